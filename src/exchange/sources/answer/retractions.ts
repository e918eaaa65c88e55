import { revisionOf } from '../../records/rules/facts.ts';
import type { Json } from '../../records/rules/json.ts';
import type { Identity, Retraction } from '../../records/rules/retirement.ts';
import { isRecord } from '../http/failures.ts';
import type { ResolvedSourceConfig } from '../source-config.ts';
import { entryOf } from './bundle.ts';
import type { Entry } from './entry.ts';
import { localPart } from './local-references.ts';
import { isResourceId, namedPatientIds, type Subjects } from './subjects.ts';

/** What an entry says was deleted: itself, or, as bulk data lists them, the entries of the Bundle that it holds. */
export function deletionsIn(config: ResolvedSourceConfig, { deleted, resource }: Entry): Retraction[] {
  if (deleted !== undefined) {
    const identity = identityAt(config, deleted);
    return identity === undefined ? [] : [{ ...identity, reason: 'deleted', revision: '', patientIds: [] }];
  }
  if (!isRecord(resource) || resource.resourceType !== 'Bundle' || !Array.isArray(resource.entry)) return [];
  const inner: unknown[] = resource.entry;
  // One level: a list of deleted resources holds no lists.
  return inner
    .map(entryOf)
    .flatMap((entry) => (entry.deleted === undefined ? [] : deletionsIn(config, entry)));
}

/** A resource of another person, which may have been this person's before. */
export function movedAway(resource: Record<string, unknown>, subjects: Subjects): Retraction[] {
  const { resourceType, id } = resource;
  // A Patient is itself and never becomes another one's.
  if (typeof resourceType !== 'string' || resourceType === 'Patient' || !isResourceId(id)) return [];
  const revision = revisionOf(resource as Json);
  return [{ resourceType, id, reason: 'moved', revision, patientIds: namedPatientIds(resource, subjects) }];
}

function identityAt(config: ResolvedSourceConfig, address: string): Identity | undefined {
  const local = /^https?:/.test(address) ? localPart(config, address) : address;
  const [, resourceType, id] =
    /^\/?([A-Z][A-Za-z]+)\/([^/?#]+)(?:\/_history\/[^/?#]+)?$/.exec(local ?? '') ?? [];
  return resourceType !== undefined && isResourceId(id) ? { resourceType, id } : undefined;
}
