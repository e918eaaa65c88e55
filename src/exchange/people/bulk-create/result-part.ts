import type { CsvLayout } from '../../../shared/bulk-csv/layout.ts';
import type { RowStatus } from '../../../shared/bulk-csv/result.ts';
import { rowReason } from '../../../shared/bulk-csv/row.ts';
import type { ChunkCounts } from './chunk-store.ts';
import type { BulkJob, JudgedChunk } from './judge-chunk.ts';
import { csvCell } from './result-csv.ts';
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
  const lines = chunk.lines.map(({ line, errors }) => {
    const result =
      errors.length > 0
        ? failed(rowReason(errors))
        : resultOf(outcomes.next().value ?? failMissingOutcome(), job.dryRun, chunk);
    counts[COUNTED_AS[result.status]] += 1;
    const { patientId, status, reason } = result;
    return `${line},${patientId},${patientId},${status},${csvCell(reason)}${layout.recordDelimiter}`;
  });
  return { counts, csv: Buffer.from(lines.join(''), 'utf8') };
}

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
  const named = (persons: ReadonlyArray<{ id: string }>): string =>
    persons
      .map((person) => chunk.trialRows.get(person.id) ?? person.id)
      .map((name) => (typeof name === 'number' ? `the patient of row ${name}` : `patient ${name}`))
      .join(', ');
  const { alsoMatches, contradicted } = outcome;
  const reason = [
    ...(alsoMatches.length === 0 ? [] : [`also matches ${named(alsoMatches)}; the oldest was updated`]),
    ...(contradicted.length === 0
      ? []
      : [`another SSN or driver's licence than ${named(contradicted)}, so they stay two patients`]),
  ].join('; ');
  if (!dryRun) return { status: outcome.kind, patientId: id, reason };
  const status = outcome.kind === 'created' ? 'would-create' : 'would-update';
  return { status, patientId: chunk.patients.has(id) ? id : '', reason };
}

function failMissingOutcome(): never {
  throw new Error('A row without errors has no outcome');
}
