import { expect, test } from 'vitest';
import { VITAL_SIGN_CODES } from '#hl7v2-to-fhir';
import {
  BLOOD_PRESSURE,
  categoryOf,
  VITAL_SIGNS,
} from '../../../packages/record-summary/src/observation.ts';

test('HL7 v2 results and summaries have the same vital signs', () => {
  const { panel, systolic, diastolic } = BLOOD_PRESSURE;
  const shown = [
    ...VITAL_SIGNS.flatMap(({ codes }) => codes),
    ...panel,
    systolic,
    diastolic,
  ];
  expect([...VITAL_SIGN_CODES].sort()).toEqual(shown.sort());
  for (const code of VITAL_SIGN_CODES)
    expect(categoryOf({ code: { coding: [{ code }] } })).toBe('vital-signs');
});
