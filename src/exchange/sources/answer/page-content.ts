import type { FhirResource } from 'fhir/r4.js';
import type { SourceType } from '../../../contract/primitives.ts';
import type { Retraction } from '../../records/rules/retirement.ts';
import { isRecord } from '../http/failures.ts';
import type { ResolvedSourceConfig } from '../source-config.ts';
import type { Entry } from './entry.ts';
import { withLocalReferences } from './local-references.ts';
import { resourceTypesOf } from './resource-types.ts';
import { deletionsIn, movedAway } from './retractions.ts';
import { belongingOf, isResourceId, type Subjects } from './subjects.ts';

export interface Content {
  resources: FhirResource[];
  /** Put aside: of other patients, of nobody where somebody must be named, or without a type or a valid id. */
  strays: unknown[];
  /** What the source says is deleted, or another person's. */
  retracted: Retraction[];
  /** It names another Patient and nothing of those asked about: an answer to some other question. */
  isAboutAnother: boolean;
}

/**
 * Cuts an answer to what was asked: the source's types, the patients asked about.
 *
 * Clinical resources must name one of those patients; supporting ones (Organization, Medication, …) must not
 * name another. What does not, and what has no type or no valid id, is counted as stray. Types that this source
 * is not asked for are left out without a count: a pharmacy that also sends Encounters does nothing wrong.
 */
export function contentOf(
  config: ResolvedSourceConfig,
  patientIds: readonly string[],
  entries: Entry[],
): Content {
  const types = resourceTypesOf(config.source);
  const clinical = new Set(types.clinical);
  const supporting = new Set(types.supporting);
  const subjects: Subjects = { config, ids: new Set(patientIds), urns: patientUrns(entries) };
  const kept: Array<Record<string, unknown>> = [];
  const strays: unknown[] = [];
  const retracted: Retraction[] = [];
  let hasOurs = false;
  let hasOtherPatient = false;
  for (const entry of entries) {
    const { resource } = entry;
    const deletions = deletionsIn(config, entry);
    retracted.push(...deletions);
    if (deletions.length > 0) continue;
    if (!isRecord(resource) || typeof resource.resourceType !== 'string') {
      strays.push(resource);
      continue;
    }
    if (resource.resourceType === 'OperationOutcome') continue;
    const belonging = belongingOf(resource, subjects);
    hasOurs ||= belonging === 'ours';
    hasOtherPatient ||= belonging === 'other' && resource.resourceType === 'Patient';
    const isSupporting = supporting.has(resource.resourceType);
    if (!isResourceId(resource.id) || belonging === 'other' || (belonging === 'unnamed' && !isSupporting)) {
      // A foreign patient is told even among types nobody asked for; an unknown type about nobody is not.
      const isAsked = isSupporting || clinical.has(resource.resourceType);
      if (isAsked || belonging === 'other') strays.push(resource);
      if (belonging === 'other') retracted.push(...movedAway(resource, subjects));
      continue;
    }
    if (isSupporting || clinical.has(resource.resourceType)) kept.push(resource);
  }
  // Checked as far as it is needed here: an object with a type and an id. Records validate the rest.
  const local = withLocalReferences(config, entries, wanted(config.source, kept));
  const resources = local as unknown as FhirResource[];
  return {
    resources,
    strays,
    retracted: withoutThose(retracted, kept),
    isAboutAnother: hasOtherPatient && !hasOurs,
  };
}

/** A resource that the same answer also brings is not gone. */
function withoutThose(retracted: Retraction[], kept: Array<Record<string, unknown>>): Retraction[] {
  if (retracted.length === 0) return [];
  const names = new Set(kept.map(({ resourceType, id }) => `${String(resourceType)}/${String(id)}`));
  return retracted.filter(({ resourceType, id }) => !names.has(`${resourceType}/${id}`));
}

/** A lab's vital signs and questionnaires are not results, unless a report counts them as such. */
function wanted(
  source: SourceType,
  resources: Array<Record<string, unknown>>,
): Array<Record<string, unknown>> {
  if (source !== 'lab') return resources;
  const reported = new Set(resources.flatMap((resource) => reportedObservations(resource)));
  return resources.filter(
    (resource) =>
      resource.resourceType !== 'Observation' ||
      isLaboratory(resource) ||
      reported.has(`Observation/${String(resource.id)}`),
  );
}

function reportedObservations(resource: Record<string, unknown>): string[] {
  if (resource.resourceType !== 'DiagnosticReport' || !Array.isArray(resource.result)) return [];
  const results: unknown[] = resource.result;
  return results.flatMap((result) => {
    const match = isRecord(result) ? /Observation\/[^/]+/.exec(String(result.reference)) : null;
    return match === null ? [] : [match[0]];
  });
}

/** Category `laboratory`, or none: at a laboratory that is what it then is. */
function isLaboratory(observation: Record<string, unknown>): boolean {
  const codings = [observation.category].flat().flatMap((category) => {
    return isRecord(category) && Array.isArray(category.coding) ? (category.coding as unknown[]) : [];
  });
  return codings.length === 0 || codings.some((coding) => isRecord(coding) && coding.code === 'laboratory');
}

function patientUrns(entries: Entry[]): Map<string, string> {
  const urns = new Map<string, string>();
  for (const { resource, fullUrl } of entries) {
    if (!fullUrl?.startsWith('urn:') || !isRecord(resource) || resource.resourceType !== 'Patient') continue;
    urns.set(fullUrl, isResourceId(resource.id) ? resource.id : '');
  }
  return urns;
}
