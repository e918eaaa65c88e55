import { sql } from 'kysely';
import type { Store } from '../../platform/database/database.ts';
import { KNOWN_FILES_MAX } from '../../records/deliveries/delivery-store.ts';
import { isInNamespace } from '../../records/rules/ids.ts';
import { UNSEARCHED_TYPES } from '../../sources/connectors/collect/supporting.ts';
import type { ChangesQuestion } from '../../sources/connectors/connector.ts';
import type { PartStep } from './attempt-store.ts';
import { connectionIdOf, type LastCollection } from './collection-store.ts';
import type { DecidedCandidate } from './source-candidate-store.ts';

/** What is known of a patient and a connection that is about to be asked. */
export interface KnownWhenAsking {
  last?: LastCollection;
  /** What the record holds of the connection; nothing without `last`. */
  held: Pick<ChangesQuestion, 'newest' | 'supporting'>;
  /** What people have decided about candidates of any connection. */
  decided: readonly DecidedCandidate[];
  /** Blobs by SHA-256 (hex), as `readStoredFiles` has them. */
  files: ReadonlyMap<string, string>;
}

/** Reads it in one statement (0591-one-statement.sql). */
export async function readKnownWhenAsking(
  store: Pick<Store, 'callAsAccount'>,
  step: PartStep,
  patientId: string,
): Promise<KnownWhenAsking> {
  const { accountId, source } = step;
  const [row] = await store.callAsAccount(
    accountId,
    sql<{
      last: StoredCollection | null;
      held: [type: string, id: string, lastUpdated: string | null][] | null;
      decided: [string, string, string][] | null;
      files: [string, string][] | null;
    }>`select * from known_when_asking(${accountId}, ${patientId}, ${source}, ${connectionIdOf(step)}, ${KNOWN_FILES_MAX})`,
  );
  const { last, held, decided, files } = row ?? {};
  return {
    last: last == null ? undefined : collectionOf(last),
    held: heldOf(step, held ?? []),
    decided: (decided ?? []).map(([connection, sourcePatientId, status]) => ({
      connection,
      sourcePatientId,
      isAccepted: status === 'accepted',
    })),
    files: new Map(files),
  };
}

/** A row of `source_collection` as JSON. */
interface StoredCollection {
  basis: string;
  patient_ids: string[];
  full_at: string;
  asked_at: string;
  differences: Record<string, number>;
}

const collectionOf = (row: StoredCollection): LastCollection => ({
  basis: row.basis,
  patientIds: row.patient_ids,
  fullAt: new Date(row.full_at),
  askedAt: new Date(row.asked_at),
  differences: row.differences,
});

/** @param rows newest first */
function heldOf(
  step: PartStep,
  rows: readonly [type: string, id: string, lastUpdated: string | null][],
): KnownWhenAsking['held'] {
  const own = rows.filter(([, id]) => isInNamespace(step.part.namespace, id));
  const newest = new Map<string, ChangesQuestion['newest'][number]>();
  for (const [resourceType, id, lastUpdated] of own)
    if (
      lastUpdated !== null &&
      !Number.isNaN(Date.parse(lastUpdated)) &&
      !newest.has(resourceType)
    )
      newest.set(resourceType, { resourceType, id, lastUpdated });
  const supporting = own
    .filter(([resourceType]) =>
      UNSEARCHED_TYPES.some((type) => type === resourceType),
    )
    .map(([resourceType, id]) => ({ resourceType, id }));
  return { newest: [...newest.values()], supporting };
}
