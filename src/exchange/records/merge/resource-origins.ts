import type { RecordSource } from '../../../contract/primitives.ts';
import type {
  RecordOrigins,
  UnitingKey,
} from '../../../contract/record-origins.ts';
import { lookupTable } from '../../../lib/lookup-table.ts';
import type { AccountTx } from '../../platform/database/database.ts';
import { sqlFile } from '../../platform/database/pg-arrays.ts';
import { NotFoundError } from '../../platform/errors.ts';
import { mayLeave } from '../reading/record-store.ts';
import { STATED_ON_PATH } from '../rules/provenance.ts';

const RESOURCE_ORIGINS = sqlFile('resource-origins.sql', import.meta.url);

/**
 * Explains a key by its first letter (see `rules/sameness.ts`). `p:` is the key
 * of every Patient that matched the person.
 */
const KEYS: Readonly<Record<string, { key: UnitingKey; reason: string }>> =
  lookupTable({
    c: {
      key: 'content',
      reason:
        'The content that identifies a resource of this type is the same.',
    },
    i: {
      key: 'identifier',
      reason:
        'A business identifier and the details that must agree with it are the same.',
    },
    s: {
      key: 'statement',
      reason: 'They are versions of one statement of the source.',
    },
    p: {
      key: 'identifier',
      reason: 'The source knows the patient by this id.',
    },
  });

/**
 * The deliveries that a consolidated resource is made of, and why they were
 * united. Call `RecordKeeper.merge` before.
 *
 * @throws NotFoundError when the record does not contain the resource
 */
export async function resourceOrigins(
  tx: AccountTx,
  patientId: string,
  resourceId: string,
): Promise<RecordOrigins> {
  const stored = await readResourceOrigins(tx, patientId, resourceId);
  if (stored.length === 0 && resourceId !== patientId)
    throw new NotFoundError('Resource');
  const owners = new Map<string, number>();
  for (const key of stored.flatMap(({ keys }) => keys))
    owners.set(key, (owners.get(key) ?? 0) + 1);
  const hasVersions = stored.some(({ superseded }) => superseded);
  return {
    resourceType: stored[0]?.resourceType ?? 'Patient',
    id: resourceId,
    origins: stored.map((origin) => {
      const {
        keys,
        collectedAt,
        versionId,
        lastUpdated,
        statedOn,
        isConverted,
        resourceType: _type,
        ...rest
      } = origin;
      const shared = keys
        .filter((key) => (owners.get(key) ?? 0) > 1)
        .map((key) => key.charAt(0));

      return {
        ...rest,
        fromDocument: isConverted,
        collectedAt: collectedAt.toISOString(),
        ...(versionId === null ? {} : { versionId }),
        ...(lastUpdated === null ? {} : { lastUpdated }),
        ...(statedOn === null ? {} : { statedOn }),
        unitedBy: [...new Set(shared)].flatMap((kind) =>
          kind === 's' && !hasVersions ? [] : (KEYS[kind] ?? []),
        ),
      };
    }),
  };
}

export interface StoredOrigin {
  resourceType: string;
  source: RecordSource;
  sourceId: string;
  fileName: string;
  isConverted: boolean;
  collectedAt: Date;
  versionId: string | null;
  lastUpdated: string | null;
  leads: boolean;
  superseded: boolean;
  statedOn: string | null;
  keys: string[];
  /** A caller split it from the others it was united with. */
  split: boolean;
}

/** The deliveries behind a consolidated resource, the leading one first. */
export async function readResourceOrigins(
  tx: AccountTx,
  patientId: string,
  resourceId: string,
): Promise<StoredOrigin[]> {
  const { rows } = await RESOURCE_ORIGINS<StoredOrigin>({
    statedOnPath: STATED_ON_PATH,
    patientId,
    resourceId,
    mayLeave: mayLeave(tx, patientId),
  }).execute(tx.db);
  return rows;
}
