import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { ELEMENTS_FILE, elementsFile } from '../../../scripts/fhir-elements.ts';

test('the table of elements is what the types of FHIR say', () => {
  expect(JSON.parse(readFileSync(ELEMENTS_FILE, 'utf8'))).toEqual(
    JSON.parse(elementsFile()),
  );
});
