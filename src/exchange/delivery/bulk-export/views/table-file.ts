import { stringify } from 'csv-stringify/sync';
import { type BasicType, parquetWriteBuffer } from 'hyparquet-writer';
import { type ViewColumn, ViewError, WrittenDecimal } from '#sql-on-fhir';
import { lookupTable } from '../../../../lib/lookup-table.ts';
import { escapeFormula } from '../../../../shared/bulk-csv/layout.ts';
import type { TableFormat } from '../rules/view-run.ts';

export const TABLE_MEDIA_TYPES: Readonly<Record<TableFormat, string>> = {
  parquet: 'application/vnd.apache.parquet',
  csv: 'text/csv; charset=utf-8',
  ndjson: 'application/x-ndjson',
};

const isInt32 = (value: unknown) =>
  Number.isInteger(value) && Math.abs(Number(value)) < 2 ** 31;
/**
 * What Parquet stores for a FHIR type, and what fits. Dates and times are
 * texts, because FHIR's may be partial: `2019-05`.
 */
const PHYSICAL: Readonly<
  Record<string, [stored: BasicType, isFit: (value: unknown) => boolean]>
> = lookupTable({
  boolean: ['BOOLEAN', (value) => typeof value === 'boolean'],
  decimal: ['DOUBLE', (value) => typeof value === 'number'],
  integer: ['INT32', isInt32],
  positiveInt: ['INT32', isInt32],
  unsignedInt: ['INT32', isInt32],
});
const physicalOf = ({ type = 'string', isCollection }: ViewColumn) =>
  isCollection || /^[A-Z]/.test(type) ? undefined : PHYSICAL[type];

export const storedType = (column: ViewColumn): BasicType =>
  physicalOf(column)?.[0] ?? 'STRING';

/**
 * A whole file with the rows, readable by itself; a CSV file begins with the
 * names, and a text in it that a spreadsheet would execute with an apostrophe.
 * Lists and elements with parts are JSON.
 *
 * @throws ViewError when a value is not of its column's type
 */
export function tableFile(
  format: TableFormat,
  columns: readonly ViewColumn[],
  rows: readonly unknown[][],
): Uint8Array {
  for (const [index, column] of columns.entries()) {
    const isFit = physicalOf(column)?.[1] ?? (() => true);
    if (
      !rows.every((row) => row[index] === null || isFit(row[index]?.valueOf()))
    )
      throw new ViewError(
        `The column ${column.name} has a value that is not of its type; correct its type or path`,
      );
  }
  const names = columns.map(({ name }) => name);
  if (format === 'csv')
    return Buffer.from(
      stringify([names, ...rows.map((row) => row.map(csvCell))]),
    );
  if (format === 'ndjson')
    return Buffer.from(
      rows
        .map((row) =>
          names
            .map(
              (name, index) => `${JSON.stringify(name)}:${jsonOf(row[index])}`,
            )
            .join(','),
        )
        .map((members) => `{${members}}\n`)
        .join(''),
    );
  const columnData = columns.map((column, index) => ({
    name: column.name,
    type: storedType(column),
    data: rows.map((row) =>
      physicalOf(column) === undefined
        ? textOf(row[index])
        : row[index]?.valueOf(),
    ),
  }));
  return new Uint8Array(parquetWriteBuffer({ columnData }));
}

/** A number is no formula, and a text is shown by a spreadsheet as it is. */
const csvCell = (value: unknown): string =>
  typeof value === 'string' ? escapeFormula(value) : (textOf(value) ?? '');

const textOf = (value: unknown): string | null =>
  value === null || typeof value === 'string' ? value : jsonOf(value);

const jsonOf = (value: unknown): string =>
  value instanceof WrittenDecimal ? value.text : JSON.stringify(value ?? null);
