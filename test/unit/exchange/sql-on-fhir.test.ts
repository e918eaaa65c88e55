import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { parseResource } from '../../../src/exchange/delivery/bulk-export/views/values.ts';
import { compileView } from '../../../src/exchange/delivery/bulk-export/views/view.ts';
import { isJson, objectsOf } from '../../../src/exchange/records/rules/json.ts';

const FOLDER = new URL('../sql-on-fhir/', import.meta.url);

interface SharedTest {
  title: string;
  view: unknown;
  expect?: Record<string, unknown>[];
  expectError?: boolean;
  expectCount?: number;
}

/** The rows of a file's resources, as objects. */
function rowsOf(
  view: unknown,
  resources: readonly unknown[],
): Record<string, unknown>[] {
  const { resource, columns, rowsOf: rows } = compileView(view, () => true);
  return objectsOf(resources)
    .filter(({ resourceType }) => resourceType === resource)
    .flatMap(rows)
    .map((row) =>
      Object.fromEntries(
        columns.map(({ name }, index) => [
          name,
          (row[index] as object)?.valueOf() ?? null,
        ]),
      ),
    );
}

const sorted = (rows: readonly Record<string, unknown>[]) =>
  rows.map((row) => JSON.stringify(Object.entries(row).sort())).sort();

const files = readdirSync(FOLDER).filter((name) => name.endsWith('.json'));
const suites = files.map((name) => {
  const file = parseResource(readFileSync(new URL(name, FOLDER), 'utf8'));
  return {
    name,
    resources: objectsOf(file.resources),
    tests: objectsOf(file.tests) as unknown as SharedTest[],
  };
});

test("all of HL7's shared tests of SQL on FHIR are here", () => {
  expect(suites).toHaveLength(22);
  expect(suites.flatMap(({ tests }) => tests)).toHaveLength(134);
});

describe.each(suites)('$name of HL7', ({ resources, tests }) => {
  test.each(tests)(
    '$title',
    ({ view, expect: wanted, expectError, expectCount }) => {
      if (expectError === true) {
        expect(() => rowsOf(view, resources)).toThrow(/\w/);
        return;
      }
      const rows = rowsOf(view, resources);
      if (expectCount !== undefined)
        expect(rows).toHaveLength(Number(expectCount));
      if (wanted !== undefined)
        expect(sorted(rows)).toEqual(sorted(wanted.filter(isJson)));
    },
  );
});
