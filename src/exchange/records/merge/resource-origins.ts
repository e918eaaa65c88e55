import type { RecordOrigins, UnitingKey } from '../../../contract/record-origins.ts';
import type { AccountTx } from '../../platform/database/database.ts';
import { NotFoundError } from '../../platform/errors.ts';
import { readResourceOrigins } from './origin-store.ts';

/** Explains a key by its first letter (see `rules/sameness.ts`). `p:` is the key of every Patient that matched the person. */
const KEYS: Readonly<Record<string, { key: UnitingKey; reason: string }>> = {
  c: { key: 'content', reason: 'The content that identifies a resource of this type is the same.' },
  i: {
    key: 'identifier',
    reason: 'A business identifier and the details that must agree with it are the same.',
  },
  s: { key: 'statement', reason: 'They are versions of one statement of the source.' },
  p: { key: 'identifier', reason: 'The source knows the patient by this id.' },
};

/**
 * The deliveries that a consolidated resource is made of, and why they were united. Call `RecordKeeper.merge` before.
 *
 * @throws NotFoundError when the record does not contain the resource
 */
export async function resourceOrigins(
  tx: AccountTx,
  patientId: string,
  resourceId: string,
): Promise<RecordOrigins> {
  const stored = await readResourceOrigins(tx, patientId, resourceId);
  if (stored.length === 0 && resourceId !== patientId) throw new NotFoundError('Resource');
  const owners = new Map<string, number>();
  for (const key of stored.flatMap(({ keys }) => keys)) owners.set(key, (owners.get(key) ?? 0) + 1);
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
      const shared = keys.filter((key) => (owners.get(key) ?? 0) > 1).map((key) => key.charAt(0));

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
