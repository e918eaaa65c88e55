import type { Store } from '../../platform/database/database.ts';
import type { ChangeChecks } from '../../sources/connectors/change-check-store.ts';
import type { Begun, ChangesQuestion, SourceConnector } from '../../sources/connectors/connector.ts';
import type { AttemptWork, PartStep } from './attempt-store.ts';
import { readHeld, readLastCollection } from './collection-store.ts';
import { basisOf, changesSince } from './rules/changes-since.ts';
import type { Collection } from './tables.ts';

/** More supporting resources than this are not asked for one by one: everything is. */
const SUPPORTING_MAX = 500;

/** How a collection begins: the question for the source, and what to record of it. */
export interface BeginningCollection {
  changes?: ChangesQuestion;
  /** What is recorded once the source has accepted the question; undefined when nothing is. */
  collection(begun: Begun): Collection | undefined;
  /** Remembers what this has found out about the server. */
  noteChecked(checked: Begun['checked']): Promise<void>;
}

const NOT_RECORDED: BeginningCollection = {
  collection: () => undefined,
  noteChecked: async () => undefined,
};

/**
 * Decides what a connection is asked for: what has changed since its last complete answer, or everything. Further attempts and
 * redrives ask for everything, because something about the earlier answers was wrong.
 */
export async function whatToAsk(
  { store, checks, now }: { store: Pick<Store, 'asAccount'>; checks: ChangeChecks; now: Date },
  step: PartStep,
  work: Pick<AttemptWork, 'patientId' | 'demographics' | 'realtime'> & Pick<Collection, 'counts'>,
  connector: SourceConnector,
): Promise<BeginningCollection> {
  if (connector.changes === undefined || work.realtime) return NOT_RECORDED;
  const { fingerprint, fullAfterDays } = connector.changes;
  const connection = step.part?.id ?? step.source;
  const basis = basisOf(work.demographics, fingerprint);
  const isFirst = step.attempt === 1 && step.run === 0;
  const { last, held } = await store.asAccount(step.accountId, async (tx) => {
    const collected = isFirst ? await readLastCollection(tx, step, work.patientId) : undefined;
    const isAsked = changesSince(collected, { basis, now, fullAfterDays }) !== undefined;
    return { last: collected, held: isAsked ? await readHeld(tx, step, work.patientId) : undefined };
  });
  const since = changesSince(last, { basis, now, fullAfterDays })?.toISOString();
  const canAsk = held !== undefined && held.newest.length > 0 && held.supporting.length <= SUPPORTING_MAX;
  const changes =
    last === undefined || since === undefined || !canAsk
      ? undefined
      : { since, patientIds: last.patientIds, ...held, honoured: await checks.read(connection, fingerprint) };
  return {
    changes,
    collection: (begun) => ({
      startedAt: now.toISOString(),
      basis,
      patientIds: begun.patientIds ?? [],
      ...(begun.since === undefined
        ? { counts: work.counts }
        : { since: begun.since, fullAt: last?.fullAt.toISOString(), differences: last?.differences }),
    }),
    noteChecked: (checked) => checks.note(connection, fingerprint, checked ?? {}),
  };
}
