import { hash } from 'node:crypto';
import { sql } from 'kysely';
import type { SourceStepInput } from '../../../contract/network-query-workflow.ts';
import { counted } from '../../../lib/counted.ts';
import { minuteOf } from '../../../lib/time.ts';
import type { Demographics } from '../../people/patients/rules/demographics.ts';
import type { AccountTx } from '../../platform/database/database.ts';
import type { ExclusionReason } from '../../records/rules/delivery-facts.ts';
import { isInNamespace } from '../../records/rules/ids.ts';
import type { SourcePage } from '../../sources/connectors/connector.ts';
import { type PartStep, partKey, updateProgress } from './attempt-store.ts';
import { isWhole, ofConnection } from './part-store.ts';
import type { Collection } from './tables.ts';
import { addOfStep, type StepEntry } from './timeline-store.ts';

/** The newest complete collection of a patient's data from one connection. */
export interface LastCollection {
  basis: string;
  patientIds: readonly string[];
  fullAt: Date;
  askedAt: Date;
  differences: Readonly<Record<string, number>>;
}

/** The connection of a step as `source_collection` has it. */
export const connectionIdOf = ({ part }: PartStep): string => part.id ?? '';

/** How many resources the record holds of a connection, by type. */
export async function countHeld(
  tx: AccountTx,
  step: PartStep,
  patientId: string,
): Promise<ReadonlyMap<string, number>> {
  const rows = await tx.db
    .selectFrom('patient_resource')
    .select(['resource_type as type', 'source_id as id'])
    .where(({ and }) => and({ patient_id: patientId, source: step.source }))
    .where('converted_from', 'is', null)
    .execute();
  const counts = new Map<string, number>();
  for (const { type, id } of rows)
    if (isInNamespace(step.part.namespace, id))
      counts.set(type, (counts.get(type) ?? 0) + 1);
  return counts;
}

/** How this part asks; undefined if that is not recorded, or it has ended. */
export async function readCollection(
  tx: AccountTx,
  step: PartStep,
): Promise<Collection | undefined> {
  const { requestId, source, attempt, part } = step;
  const [table, own] = isWhole(part)
    ? [sql.table('network_query_attempt'), sql``]
    : [sql.table('network_query_part'), sql`and connection_id = ${part.id}`];
  // Locked, so that it cannot end before this transaction does.
  const { rows } = await sql<{ collection: Collection | null }>`
    select collection from ${table} where query_id = ${requestId} and source = ${source} and attempt = ${attempt}
      and status = 'running' ${own} for no key update`.execute(tx.db);
  return rows[0]?.collection ?? undefined;
}

/**
 * Deletes the row of the last collection: if the one that begins does not
 * complete, the next one asks for everything.
 */
export async function forgetLastCollection(
  tx: AccountTx,
  step: PartStep,
  patientId: string,
): Promise<void> {
  await tx.db.later
    .deleteFrom('source_collection')
    .where(({ and }) =>
      and({
        patient_id: patientId,
        source: step.source,
        connection: connectionIdOf(step),
      }),
    )
    .execute();
}

/**
 * Records how a connection is asked, before its first page is stored, and
 * forgets the last collection.
 */
export async function beginCollection(
  tx: AccountTx,
  step: PartStep,
  patientId: string,
  collection: Collection,
): Promise<void> {
  await updateProgress(tx, step)
    .set({ collection: JSON.stringify(collection) })
    .where('status', '=', 'running')
    .execute();
  await forgetLastCollection(tx, step, patientId);
  if (collection.since === undefined) return;
  const { source, attempt } = step;
  const full =
    collection.fullAt === undefined
      ? ''
      : `; everything was last asked for at ${minuteOf(collection.fullAt)}`;
  await addOfStep(tx, step, {
    kind: 'asked',
    message: ofConnection(
      step,
      `Asking only for what changed since ${minuteOf(collection.since)}${full}`,
    ),
    onceKey: `changes/${source}/${attempt}/${connectionIdOf(step)}`,
  });
}

/**
 * Writes the row of a collection whose pages are all stored, unless something
 * is missing from them.
 */
export async function rememberCollection(
  tx: AccountTx,
  step: PartStep,
  patientId: string,
  collection: Collection | undefined,
): Promise<void> {
  await insertCollection(
    tx,
    await collectionToRemember(tx, step, patientId, collection),
  );
}

/** The row of `rememberCollection`, if there is to be one. */
export async function collectionToRemember(
  tx: AccountTx,
  step: PartStep,
  patientId: string,
  collection: Collection | undefined,
) {
  if (collection === undefined || collection.hasGaps === true) return undefined;
  const { startedAt, basis, patientIds, since, fullAt } = collection;
  const differences =
    collection.differences ??
    (await differencesTo(tx, step, patientId, collection.counts));
  return {
    account_id: tx.accountId,
    patient_id: patientId,
    source: step.source,
    connection: connectionIdOf(step),
    basis,
    patient_ids: [...patientIds],
    full_at: new Date(since === undefined ? startedAt : (fullAt ?? 0)),
    asked_at: new Date(startedAt),
    differences: JSON.stringify(differences),
  };
}

export async function insertCollection(
  tx: AccountTx,
  row: Awaited<ReturnType<typeof collectionToRemember>>,
): Promise<void> {
  if (row === undefined) return;
  await tx.db.later
    .insertInto('source_collection')
    .values(row)
    // Another query of the patient has completed meanwhile: its row stands.
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

/**
 * By how much these counts of a source differ from what the record now holds.
 */
async function differencesTo(
  tx: AccountTx,
  step: PartStep,
  patientId: string,
  counts: Collection['counts'] = {},
): Promise<Record<string, number>> {
  if (Object.keys(counts).length === 0) return {};
  const held = await countHeld(tx, step, patientId);
  return Object.fromEntries(
    Object.entries(counts).map(([type, count]) => [
      type,
      count - (held.get(type) ?? 0),
    ]),
  );
}

const HOUR_MS = 60 * 60_000;
const DAY_MS = 24 * HOUR_MS;
/**
 * Queries overlap by this: clocks differ, and a server may list what it has
 * stored only after a while.
 */
const OVERLAP_MS = 24 * HOUR_MS;
/**
 * Raise it when the rules change by which answers become resources: everything
 * is then asked for again.
 */
const RULES_VERSION = 1;

/**
 * What decides which data a query asks for. When it changes, an earlier answer
 * no longer stands for it.
 */
export function basisOf(person: Demographics, fingerprint: string): string {
  const {
    firstNames,
    lastNames,
    dob,
    gender,
    addresses,
    contacts,
    personalIdentifiers,
  } = person;
  const identity = [
    firstNames,
    lastNames,
    dob,
    gender,
    addresses,
    contacts,
    personalIdentifiers,
  ];
  return hash('sha256', JSON.stringify([RULES_VERSION, fingerprint, identity]));
}

/**
 * Since when a source is asked for changes; undefined when it is asked for
 * everything: nothing was collected completely, the last complete collection is
 * not comparable, or everything is due again.
 */
export function changesSince(
  last: Pick<LastCollection, 'basis' | 'fullAt' | 'askedAt'> | undefined,
  {
    basis,
    now,
    fullAfterDays,
  }: { basis: string; now: Date; fullAfterDays: number },
): Date | undefined {
  if (last === undefined || last.basis !== basis) return undefined;
  const age = now.getTime() - last.fullAt.getTime();
  if (age < 0 || age >= fullAfterDays * DAY_MS || last.askedAt > now)
    return undefined;
  return new Date(last.askedAt.getTime() - OVERLAP_MS);
}

/**
 * Records in the timeline what a page lacks: misattributed resources, failed
 * fetches, errors the source reports.
 */
export async function recordOmissions(
  tx: AccountTx,
  step: PartStep,
  page: SourcePage,
): Promise<void> {
  const omissions = [
    page.misattributedCount > 0
      ? `${counted(page.misattributedCount, 'resource')} of other patients discarded`
      : undefined,
    page.skippedAttachments > 0
      ? `${counted(page.skippedAttachments, 'document')} could not be fetched${reasonsOf(page)}`
      : undefined,
    differingOf(page) > 0
      ? `${counted(differingOf(page), 'document')} of another size or hash than the source states, kept as it came`
      : undefined,
    page.unreachable === undefined
      ? undefined
      : `${counted(page.unreachable.count, 'organization, practitioner or location', 'organizations, practitioners or locations')} could not be fetched (${page.unreachable.reason})`,
    page.leftOut === undefined ? undefined : leftOutMessage(page.leftOut),
    page.reportedErrors > 0
      ? `the source reports errors of its own: ${page.reportedErrors}`
      : undefined,
    ...(page.reported?.gaps ?? []),
  ].filter((omission) => omission !== undefined);
  for (const warning of page.reported?.warnings ?? [])
    await recordNotice(tx, step, warning, warning);
  if (omissions.length === 0) return;
  const isGap = leavesGap(page);
  const message = ofConnection(step, omissions.join('; '));
  await addOfStep(tx, step, { kind: 'incomplete', message, isGap });
}

const differingOf = ({ differingAttachments = 0 }: SourcePage): number =>
  differingAttachments;

const reasonsOf = ({ skippedReasons = [] }: SourcePage): string =>
  skippedReasons.length === 0 ? '' : ` (${skippedReasons.join('; ')})`;

/**
 * Records in the timeline, once per attempt and connection, what went otherwise
 * than usual when the source was asked.
 */
export async function recordNotice(
  tx: AccountTx,
  step: PartStep,
  notice: string,
  key = 'notice',
): Promise<void> {
  const onceKey = `${key}/${partKey(step)}`;
  const message = ofConnection(step, notice);
  await addOfStep(tx, step, { kind: 'notice', message, onceKey });
}

/**
 * Whether a page lacks something of this patient's record; discarded resources
 * of other patients are no gap.
 */
export const leavesGap = (page: SourcePage): boolean =>
  page.skippedAttachments > 0 ||
  differingOf(page) > 0 ||
  page.unreachable !== undefined ||
  lacksResources(page);

/**
 * Whether resources may be missing from a page, so that their absence says
 * nothing about the source.
 */
export const lacksResources = (page: SourcePage): boolean =>
  page.leftOut !== undefined ||
  page.reportedErrors > 0 ||
  (page.reported?.gaps.length ?? 0) > 0;

const leftOutMessage = (names: readonly string[]): string =>
  `${counted(names.length, 'resource')} larger than a page may be left out (${names.join(', ')})`;

/**
 * Says in the timeline, once per attempt, how many of a source's resources are
 * stored but excluded, by reason.
 */
export function exclusionEntries(
  { source, attempt }: SourceStepInput,
  counts: readonly { reason: ExclusionReason; count: number }[],
): StepEntry[] {
  if (counts.length === 0) return [];
  const reasons = counts.map(
    ({ reason, count }) => `${count} ${ASIDE_REASONS[reason]}`,
  );
  const message = `Stored, but excluded from the record: ${reasons.join(', ')}`;
  const onceKey = `put-aside/${source}/${attempt}`;
  return [{ kind: 'incomplete', message, onceKey }];
}

const ASIDE_REASONS: Record<ExclusionReason, string> = {
  type: 'of a type that records do not hold',
  incomplete: 'without the required content',
  'names-nobody': 'without a patient',
  'names-another': 'about another person',
  unreadable: 'nested too deeply to be read',
};
