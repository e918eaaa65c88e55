import { escapeFormula } from '../../shared/bulk-csv/formula.ts';
import type { CsvLayout } from '../../shared/bulk-csv/layout.ts';
import { RESULT_COLUMNS, type RowStatus } from '../../shared/bulk-csv/result.ts';
import { rowReason } from '../../shared/bulk-csv/row.ts';
import type { ChunkCounts } from './chunk-store.ts';
import type { BulkJob, JudgedChunk } from './judge-chunk.ts';
import type { RowOutcome } from './rules/bulk-fold.ts';

interface RowResult {
  status: RowStatus;
  patientId: string;
  reason: string;
}

/** The chunk's lines of the result CSV, in file order, and the number of rows created, updated and failed. */
export function resultPart(
  job: Pick<BulkJob, 'dryRun'>,
  chunk: JudgedChunk,
  layout: CsvLayout,
): { counts: ChunkCounts; csv: Buffer } {
  const counts = { created: 0, updated: 0, failed: 0 };
  const outcomes = chunk.outcomes[Symbol.iterator]();
  const lines = chunk.lines.map(({ cells, errors }) => {
    const result =
      errors.length > 0
        ? failed(rowReason(errors))
        : resultOf(outcomes.next().value ?? failMissingOutcome(), job.dryRun, chunk);
    counts[COUNTED_AS[result.status]] += 1;
    // Pad or cut to the number of columns in the header, so that the result cells land in their columns.
    const line = cells.slice(0, layout.columns.length);
    while (line.length < layout.columns.length) line.push('');
    line.push(result.patientId, result.patientId, result.status, result.reason);
    return csvLine(line, layout);
  });
  return { counts, csv: Buffer.from(lines.join(''), 'utf8') };
}

/** The first line of the result CSV. */
export const resultHeader = (layout: CsvLayout): string =>
  (layout.bom ? '\uFEFF' : '') + csvLine([...layout.columns, ...RESULT_COLUMNS], layout);

const COUNTED_AS = {
  created: 'created',
  'would-create': 'created',
  updated: 'updated',
  'would-update': 'updated',
  failed: 'failed',
} as const satisfies Record<RowStatus, keyof ChunkCounts>;

const failed = (reason: string): RowResult => ({ status: 'failed', patientId: '', reason });

function resultOf(outcome: RowOutcome, dryRun: boolean, chunk: JudgedChunk): RowResult {
  if (outcome.kind === 'no-consent')
    return failed(
      `a cohort of this row is for treatment, and patient ${outcome.person.id} has no treatment relationship`,
    );
  if (outcome.kind === 'no-room') return failed(outcome.reason);
  const { id } = outcome.person;
  const others = outcome.alsoMatches.map((person) => {
    const trialRow = chunk.trialRows.get(person.id);
    return trialRow === undefined ? `patient ${person.id}` : `the patient of row ${trialRow}`;
  });
  const reason = others.length === 0 ? '' : `also matches ${others.join(', ')}; the oldest was updated`;
  if (!dryRun) return { status: outcome.kind, patientId: id, reason };
  const status = outcome.kind === 'created' ? 'would-create' : 'would-update';
  return { status, patientId: chunk.patients.has(id) ? id : '', reason };
}

function failMissingOutcome(): never {
  throw new Error('A row without errors has no outcome');
}

function csvLine(cells: readonly string[], { recordDelimiter }: CsvLayout): string {
  return cells.map(csvCell).join(',') + recordDelimiter;
}

const NEEDS_QUOTES = /[",\r\n]/;

function csvCell(cell: string): string {
  const text = escapeFormula(cell);
  return NEEDS_QUOTES.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
