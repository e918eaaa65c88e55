import { revisionOf } from '../../../records/rules/delivery-facts.ts';
import type { Json } from '../../../records/rules/json.ts';
import type { Identity, Retraction } from '../../../records/rules/retirement.ts';
import { isRecord } from '../http/failures.ts';
import type { ResolvedSourceConfig } from '../source-config.ts';
import { entryOf } from './bundle.ts';
import { localReferenceOf } from './local-references.ts';
import type { ResponseEntry } from './response-entry.ts';
import { isResourceId, namedPatientIds, type Subjects } from './subjects.ts';

/** The deletions that an entry reports: its own, or those listed in the Bundle it holds (FHIR Bulk Data, `deleted`). */
export function deletionsIn(
  config: ResolvedSourceConfig,
  { deleted, resource }: ResponseEntry,
): Retraction[] {
  if (deleted !== undefined) {
    const identity = identityAt(config, deleted);
    return identity === undefined ? [] : [{ ...identity, reason: 'deleted', revision: '', patientIds: [] }];
  }
  if (!isRecord(resource) || resource.resourceType !== 'Bundle' || !Array.isArray(resource.entry)) return [];
  const inner: unknown[] = resource.entry;
  // One level is enough: a list of deletions does not contain further lists.
  return inner
    .map(entryOf)
    .flatMap((entry) => (entry.deleted === undefined ? [] : deletionsIn(config, entry)));
}

/** A retraction for a resource that names another patient; it may have named this patient before. */
export function movedAway(resource: Record<string, unknown>, subjects: Subjects): Retraction[] {
  const { resourceType, id } = resource;
  // A Patient resource cannot move to another patient.
  if (typeof resourceType !== 'string' || resourceType === 'Patient' || !isResourceId(id)) return [];
  const revision = revisionOf(resource as Json);
  return [{ resourceType, id, reason: 'moved', revision, patientIds: namedPatientIds(resource, subjects) }];
}

function identityAt(config: ResolvedSourceConfig, address: string): Identity | undefined {
  const local = /^https?:/.test(address) ? localReferenceOf(config, address) : address;
  const [, resourceType, id] =
    /^\/?([A-Z][A-Za-z]+)\/([^/?#]+)(?:\/_history\/[^/?#]+)?$/.exec(local ?? '') ?? [];
  return resourceType !== undefined && isResourceId(id) ? { resourceType, id } : undefined;
}
