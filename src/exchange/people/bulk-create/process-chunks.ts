import { Readable } from 'node:stream';
import type { BulkCounts } from '../../../contract/bulk-create.ts';
import type { BlobRef } from '../../../shared/blobs/blob-store.ts';
import { isScientific } from '../../../shared/bulk-csv/cell-rules.ts';
import type { CsvLayout, RowStatus } from '../../../shared/bulk-csv/layout.ts';
import { rowReason } from '../../../shared/bulk-csv/row.ts';
import { createRowReader } from '../../../shared/bulk-csv/row-reader.ts';
import { areCallersServed } from '../../platform/database/connections.ts';
import type { AccountTx } from '../../platform/database/database.ts';
import { retryOvertaken } from '../../platform/database/retry.ts';
import {
  afterMatch,
  isSameContent,
  type ReplaceableFacts,
  replacedBy,
} from '../patients/rules/patient-content.ts';
import {
  type ChunkCounts,
  completeChunk,
  listOpenChunks,
  lockChunk,
} from './chunk-store.ts';
import type {
  BulkEngineDeps,
  ProcessOptions,
  ProcessOutcome,
} from './engine-steps.ts';
import {
  type BulkJob,
  claimsOf,
  contentAfter,
  type JudgedChunk,
  judgeChunk,
  type MatchedRow,
} from './judge-chunk.ts';
import {
  addAllMemberships,
  type IdentifiedContent,
  insertPatients,
  insertTrialIdentifiers,
  insertTrialKeys,
  recordBulkPatients,
  updatePatients,
} from './patient-store.ts';
import {
  type PreparedChunk,
  type PreparedPerson,
  prepareChunk,
} from './prepare-chunk.ts';
import { type BulkRequestView, expectBulkRequest } from './request-store.ts';
import { csvCell } from './result-csv.ts';
import type { FoldedPerson, RowOutcome } from './rules/bulk-fold.ts';

/**
 * Transactions in parallel: one commits, one writes, one looks up its patients.
 * A fourth chunk is read meanwhile. While callers are served it is one, so that
 * the import takes fewer processors at a time (decision 146).
 */
const TURNS_AT_ONCE = 3;

/**
 * Processes the open chunks of a request in file order, so that the later of
 * two rows about one person always finds the earlier row's patient. After an
 * interruption the next call continues after the last committed chunk.
 */
export async function processChunks(
  deps: BulkEngineDeps,
  accountId: string,
  requestId: string,
  options: ProcessOptions,
): Promise<ProcessOutcome> {
  const { work, open } = await deps.store.asAccount(accountId, async (tx) => ({
    work: await expectBulkRequest(tx, requestId),
    open: await listOpenChunks(tx, requestId),
  }));
  const { facilityId, dryRun, status } = work;
  let { counts } = work;
  if (status !== 'processing') return { done: false, counts, stopped: 'ended' };
  const { upload, layout } = checkedFile(work);

  const job = { accountId, requestId, facilityId, dryRun, layout };
  const reader = {
    ...deps,
    upload,
    readRow: createRowReader(layout),
    layout,
    accountId,
  };
  const underWay: ChunkTurn[] = [];
  const chunks = open.slice(0, options.maxChunks);
  let begun = 0;
  let stopped: ProcessOutcome['stopped'];

  const awaitFirst = async (): Promise<void> => {
    const end = await underWay.shift()?.ended;
    if (end?.stop === 'ended' || end?.stop === 'paused') stopped = end.stop;
    if (end === undefined || end.stop !== undefined) return;
    counts = end.counts;
    options.onChunk?.(counts);
  };
  try {
    for (const chunk of chunks) {
      options.signal?.throwIfAborted();
      if (options.untilMs !== undefined && Date.now() >= options.untilMs) break;
      const prepared = await prepareChunk(reader, chunk);
      const turns =
        underWay.length > 0 && (await areCallersServed(deps.store))
          ? 1
          : TURNS_AT_ONCE;
      while (underWay.length >= turns) await awaitFirst();
      if (stopped !== undefined) break;
      underWay.push(beginTurn(deps, job, prepared, [...underWay]));
      begun += 1;
    }
    while (underWay.length > 0) await awaitFirst();
  } finally {
    // Let no transaction outlive this call.
    await Promise.allSettled(underWay.map(({ ended }) => ended));
  }
  return {
    done: stopped === undefined && begun === open.length,
    counts,
    stopped,
  };
}

function checkedFile({ upload, layout }: BulkRequestView) {
  if (upload === undefined || layout === undefined)
    throw new Error('The format of the upload has not been checked');
  return { upload, layout };
}

interface TurnJob extends BulkJob {
  accountId: string;
  layout: CsvLayout;
}

/**
 * How a turn ended. `done`: another execution of this step has processed the
 * chunk.
 */
type TurnEnd =
  | { counts: BulkCounts; stop?: undefined }
  | { stop: 'done' | 'ended' | 'paused' };

/** A chunk whose transaction is running. */
interface ChunkTurn {
  /** Identity keys of its persons. */
  keys: ReadonlySet<string>;
  /**
   * Resolves when the transaction holds all locks it may have to wait for, or
   * has ended. Rejects when it fails.
   */
  holdsAll: Promise<void>;
  /**
   * Resolves after the transaction; rejects when it was rolled back by an
   * error.
   */
  ended: Promise<TurnEnd>;
}

/**
 * Processes one chunk in one transaction: rows, checkpoint, counts, and the
 * reference to its part of the result, whose blob is stored before.
 *
 * Chunks before it (`earlier`, in file order) may still be running. If one of
 * them shares a person, this chunk waits for its end. It takes no lock before
 * they hold all of theirs, so that two imports never deadlock, and it commits
 * only after them. Chunks therefore take effect in file order, and a crash
 * never leaves a gap.
 */
function beginTurn(
  { store, blobs }: Pick<BulkEngineDeps, 'store' | 'blobs'>,
  job: TurnJob,
  chunk: PreparedChunk,
  earlier: readonly ChunkTurn[],
): ChunkTurn {
  const before = earlier.at(-1);
  let resolveHeld = (): void => undefined;
  let isHeld = false;
  const held = new Promise<void>((resolve) => {
    resolveHeld = () => {
      isHeld = true;
      resolve();
    };
  });
  const ended = run();
  // The next turn sees a failure by awaiting this. There may be no next turn,
  // so a rejection is also handled here.
  const holdsAll = Promise.race([held, ended.then(() => undefined)]);
  holdsAll.catch(() => undefined);
  return { keys: chunk.keys, holdsAll, ended };

  async function run(): Promise<TurnEnd> {
    await before?.holdsAll;
    // Turns end one after the other, so waiting for the last one that shares a
    // person is enough.
    await earlier.findLast(({ keys }) => haveCommon(chunk.keys, keys))?.ended;
    return retryOvertaken(attempt, () => !isHeld);
  }

  async function attempt(): Promise<TurnEnd> {
    let part: BlobRef | undefined;
    let isReferenced = false;
    try {
      return await store.asAccount(
        job.accountId,
        async (tx): Promise<TurnEnd> => {
          const locked = await lockChunk(tx, job.requestId, chunk.chunk);
          if (locked.stop !== undefined) return { stop: locked.stop };
          const judged = await judgeChunk(tx, job, chunk);
          resolveHeld();
          const writing = writeChunk(tx, job, judged);
          // Awaited below; without a handler until then, a failure would be an
          // unhandled rejection.
          writing.catch(() => undefined);
          const { counts, csv } = resultPart(job, judged, job.layout);
          // As a stream, the part is not compressed: it is read once, soon, and
          // then deleted.
          const storing = blobs.put('result', Readable.from([csv]), 'text/csv');
          const [written, stored] = await Promise.allSettled([
            writing,
            storing,
          ]);
          if (stored.status === 'fulfilled') part = stored.value;
          if (written.status === 'rejected') throw written.reason;
          if (stored.status === 'rejected') throw stored.reason;
          const stop = (await before?.ended)?.stop;
          if (stop === 'ended' || stop === 'paused')
            throw new StoppedError(stop);
          const total = await completeChunk(
            tx,
            job.requestId,
            chunk,
            counts,
            stored.value,
          );
          if (total === undefined) throw new StoppedError('ended');
          // From here on, an error may hide a successful commit that refers to
          // the blob, so the blob stays.
          isReferenced = true;
          return { counts: total };
        },
      );
    } catch (error) {
      if (part !== undefined && !isReferenced) await blobs.delete(part.ref);
      if (error instanceof StoppedError) return { stop: error.stop };
      throw error;
    }
  }
}

function haveCommon(
  left: ReadonlySet<string>,
  right: ReadonlySet<string>,
): boolean {
  for (const key of left) if (right.has(key)) return true;
  return false;
}

/**
 * Rolls the transaction back, because the request ended or was paused while its
 * chunk was processed.
 */
class StoppedError extends Error {
  override readonly name = 'StoppedError';
  readonly stop: 'ended' | 'paused';

  constructor(stop: 'ended' | 'paused') {
    super(`The bulk create is ${stop}`);
    this.stop = stop;
  }
}

/** A person of the chunk with at least one row. */
interface PersonWithRows extends Pick<FoldedPerson, 'id' | 'isNew'> {
  matchedRows: MatchedRow[];
}

/**
 * Writes the outcome of a chunk: patients and cohort memberships. A dry run
 * writes only the trial keys.
 */
async function writeChunk(
  tx: AccountTx,
  job: BulkJob,
  chunk: JudgedChunk,
): Promise<void> {
  if (job.dryRun) {
    const trials = claimsOf(chunk).map((claim) => ({
      ...claim,
      firstRow: chunk.trialRows.get(claim.personId) ?? null,
    }));
    await insertTrialKeys(tx, job.requestId, trials);
    const persons = chunk.persons.map(({ id, rows }) => ({
      id,
      identifiers: rows.flatMap(
        (place) => chunk.matched[place]?.person.given.personalIdentifiers ?? [],
      ),
    }));
    await insertTrialIdentifiers(tx, job.requestId, persons);
    return;
  }
  const persons: PersonWithRows[] = [];
  for (const { id, isNew, rows } of chunk.persons) {
    const matchedRows = rows
      .map((place) => chunk.matched[place])
      .filter((row) => row !== undefined);
    if (matchedRows.length > 0) persons.push({ id, isNew, matchedRows });
  }
  const { created, changed } = contentsOf(chunk, persons, job.facilityId);
  const noted = persons.map(({ id, isNew, matchedRows }) => ({
    patientId: id,
    firstRow: matchedRows[0]?.row ?? chunk.firstRow,
    isNew,
  }));
  // The statements run one after the other on one connection; the later ones
  // are built while PostgreSQL runs the first.
  await Promise.all([
    insertPatients(tx, created),
    updatePatients(tx, changed),
    addAllMemberships(tx, persons.flatMap(membershipsOf)),
    recordBulkPatients(tx, job.requestId, noted),
  ]);
}

/**
 * The new and changed patients after merging their rows in file order.
 * Unchanged patients are left out.
 */
function contentsOf(
  chunk: JudgedChunk,
  persons: readonly PersonWithRows[],
  defaultFacilityId: string,
) {
  const created: IdentifiedContent[] = [];
  const changed: IdentifiedContent[] = [];
  for (const { id, matchedRows } of persons) {
    const patient = chunk.patients.get(id);
    const content = contentAfter(patient, matchedRows, defaultFacilityId);
    if (content === undefined) continue;
    if (patient === undefined) created.push({ id, content });
    else if (!isSameContent(patient, content)) changed.push({ id, content });
  }
  return { created, changed };
}

function membershipsOf({ id, matchedRows }: PersonWithRows) {
  if (matchedRows.every(({ cohorts }) => cohorts.length === 0)) return [];
  const cohortIds = new Set<string>();
  for (const { cohorts } of matchedRows)
    for (const cohort of cohorts) cohortIds.add(cohort.id);
  return [...cohortIds].map((cohortId) => ({ cohortId, patientId: id }));
}

interface RowResult {
  status: RowStatus;
  patientId: string;
  reason: string;
}

/**
 * The chunk's lines of the result CSV, in file order, and the number of rows
 * created, updated and failed.
 */
function resultPart(
  job: Pick<BulkJob, 'dryRun'>,
  chunk: JudgedChunk,
  layout: CsvLayout,
): { counts: ChunkCounts; csv: Buffer } {
  const counts = { created: 0, updated: 0, failed: 0 };
  const outcomes = chunk.outcomes[Symbol.iterator]();
  const known = new Map<string, ReplaceableFacts>(chunk.patients);
  const lines = chunk.lines.map(({ line, errors, person }) => {
    const result =
      errors.length > 0
        ? failed(rowReason(errors))
        : resultOf(
            outcomes.next().value ?? failMissingOutcome(),
            job.dryRun,
            chunk,
            person,
            known,
          );
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

const failed = (reason: string): RowResult => ({
  status: 'failed',
  patientId: '',
  reason,
});

/**
 * @param known what the row may replace, by the patient's id; brought up to
 *   date by each row
 */
function resultOf(
  outcome: RowOutcome,
  dryRun: boolean,
  chunk: JudgedChunk,
  row: PreparedPerson | undefined,
  known: Map<string, ReplaceableFacts>,
): RowResult {
  if (outcome.kind === 'no-consent')
    return failed(
      `a cohort of this row is for treatment, and patient ${outcome.person.id} has no treatment relationship`,
    );
  if (outcome.kind === 'no-room') return failed(outcome.reason);
  const { id } = outcome.person;
  const named = (persons: ReadonlyArray<{ id: string }>): string =>
    persons
      .map((person) => chunk.trialRows.get(person.id) ?? person.id)
      .map((name) =>
        typeof name === 'number'
          ? `the patient of row ${name}`
          : `patient ${name}`,
      )
      .join(', ');
  const { alsoMatches, contradicted } = outcome;
  const externalId = row?.facts.externalId ?? '';
  const sameId =
    outcome.kind === 'created' ? chunk.externalIdHolders.get(externalId) : [];
  const before = known.get(id);
  const after = row && afterMatch(before, row.given, row.facts);
  if (after !== undefined) known.set(id, after);
  const reason = [
    ...(before === undefined || after === undefined
      ? []
      : replacements(replacedBy(before, after))),
    ...(alsoMatches.length === 0
      ? []
      : [`also matches ${named(alsoMatches)}, not updated`]),
    ...(sameId === undefined || sameId.length === 0
      ? []
      : [
          `external id ${externalId} is also that of patient ${sameId.join(', ')}`,
        ]),
    ...cutExternalId(externalId),
    ...(contradicted.length === 0
      ? []
      : [
          `another SSN or driver's licence than ${named(contradicted)}, so they stay two patients`,
        ]),
  ].join('; ');
  if (!dryRun) return { status: outcome.kind, patientId: id, reason };
  const status = outcome.kind === 'created' ? 'would-create' : 'would-update';
  return { status, patientId: chunk.patients.has(id) ? id : '', reason };
}

const cutExternalId = (externalId: string): string[] =>
  isScientific(externalId)
    ? [
        `external id ${externalId} is in scientific notation: a spreadsheet has lost digits of it, and others may have the same`,
      ]
    : [];

const replacements = ({
  externalId,
  hieOptOut,
}: ReturnType<typeof replacedBy>): string[] => [
  ...(externalId === undefined
    ? []
    : [`external id ${externalId} replaced; it still finds the patient`]),
  ...(hieOptOut === undefined ? [] : [`hieOptOut was ${hieOptOut}`]),
];

function failMissingOutcome(): never {
  throw new Error('A row without errors has no outcome');
}
