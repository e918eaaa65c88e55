import { expect, test } from 'vitest';
import { parseExport } from '../../../src/exchange/delivery/bulk-export/rules/export-request.ts';

const faultsOf = (filters: readonly string[]) =>
  parseExport(
    filters.map((filter) => ['_typeFilter', filter]),
    () => true,
  ).faults;

test('the filters of an export have a budget together, not only each', () => {
  const filter = `Observation?code=${'8480-6,'.repeat(90)}8462-4`;
  expect(faultsOf([filter, filter])).toEqual([]);
  expect(faultsOf(Array(16).fill(filter))).toEqual([
    {
      parameter: '_typeFilter',
      message: 'has at most 10000 characters in all',
    },
  ]);
});
