import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { compileView, type JsonObject, WrittenDecimal } from '../src/index.ts';

const FOLDER = new URL('./hl7/', import.meta.url);

interface SharedTest {
  title: string;
  view: unknown;
  expect?: Record<string, unknown>[];
  expectError?: boolean;
  expectCount?: number;
}

interface SharedTests {
  resources: JsonObject[];
  tests: SharedTest[];
}

/** Decimals are as they are written, as the boundaries of FHIRPath need them. */
const withDecimals = (
  _: string,
  value: unknown,
  context?: { source?: string },
) =>
  typeof value === 'number' && context?.source !== String(value)
    ? new WrittenDecimal(String(context?.source))
    : value;

/** The rows of a file's resources, as objects. */
function rowsOf(
  view: unknown,
  resources: readonly JsonObject[],
): Record<string, unknown>[] {
  const { resource, columns, rowsOf: rows } = compileView(view);
  return resources
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
  const text = readFileSync(new URL(name, FOLDER), 'utf8');
  const { resources, tests }: SharedTests = JSON.parse(text, withDecimals);
  return { name, resources, tests };
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
      if (wanted !== undefined) expect(sorted(rows)).toEqual(sorted(wanted));
    },
  );
});
