import type { FhirResource } from 'fhir/r4.js';
import type { Json } from '#record-summary/fhir';
import type { SourceType } from '../../../../contract/primitives.ts';
import { revisionOf } from '../../../records/rules/delivery-facts.ts';
import { r4Faults } from '../../../records/rules/r4/check-r4.ts';
import type {
  Identity,
  Retraction,
} from '../../../records/rules/retirement.ts';
import { isRecord } from '../http/failures.ts';
import type { ResolvedSourceConfig } from '../source-config.ts';
import {
  countedGaps,
  joinedReports,
  localReferenceOf,
  reportedIn,
  responseEntry,
  withLocalReferences,
} from './bundle-page.ts';
import type { ResponseEntry } from './plan.ts';
import { resourceTypesOf } from './resource-types.ts';
import {
  belongingOf,
  isResourceId,
  namedPatientIds,
  type Subjects,
} from './subjects.ts';

export type PageContent = ReturnType<typeof requestedContent>;

/**
 * Reduces a response to the requested resource types and patients.
 *
 * Clinical resources must name one of the requested patients; supporting ones
 * (Organization, Medication, …) must not name another. Resources that break
 * this rule, or that have no type or no valid id, are misattributed. Resources
 * of another version of FHIR than R4 are not kept either: their elements mean
 * other things. Nor is one with a number that nobody can store. Types that this
 * source is not asked for are dropped without being counted: a pharmacy may well
 * send Encounters too.
 */
export function requestedContent(
  config: ResolvedSourceConfig,
  patientIds: readonly string[],
  entries: ResponseEntry[],
) {
  const types = resourceTypesOf(config.source);
  const clinical = new Set(types.clinical);
  const supporting = new Set(types.supporting);
  const subjects: Subjects = {
    config,
    ids: new Set(patientIds),
    urns: patientUrns(entries),
  };
  const kept: Array<Record<string, unknown>> = [];
  const misattributed: unknown[] = [];
  const retracted: Retraction[] = [];
  const unusable = new Map<string, number>();
  const note = (reason: string) =>
    unusable.set(reason, (unusable.get(reason) ?? 0) + 1);
  let otherCount = 0;
  let hasOurs = false;
  let hasOtherPatient = false;
  for (const entry of entries) {
    const { resource } = entry;
    const deletions = deletionsIn(config, entry);
    retracted.push(...deletions);
    if (deletions.length > 0) continue;
    if (!isRecord(resource) || typeof resource.resourceType !== 'string') {
      misattributed.push(resource);
      note('without a type');
      continue;
    }
    if (resource.resourceType === 'OperationOutcome') continue;
    const belonging = belongingOf(resource, subjects);
    hasOurs ||= belonging === 'ours';
    hasOtherPatient ||=
      belonging === 'other' && resource.resourceType === 'Patient';
    const isSupporting = supporting.has(resource.resourceType);
    if (
      !isResourceId(resource.id) ||
      belonging === 'other' ||
      (belonging === 'unnamed' && !isSupporting)
    ) {
      // Of types that were not requested, only resources that name another
      // patient are counted.
      const isAsked = isSupporting || clinical.has(resource.resourceType);
      if (isAsked || belonging === 'other') misattributed.push(resource);
      if (belonging === 'other') {
        otherCount += 1;
        retracted.push(...movedAway(resource, subjects));
      } else if (isAsked) note(unusableBecause(resource));
      continue;
    }
    if (!isSupporting && !clinical.has(resource.resourceType)) continue;
    const unreadable = unreadableBecause(resource);
    if (unreadable === undefined) kept.push(resource);
    else note(unreadable);
  }
  // Checked so far: an object with a type and an id. The `records` feature
  // validates the rest.
  const atSource = (reference: string) => localReferenceOf(config, reference);
  const local = withLocalReferences(
    atSource,
    entries,
    wanted(config.source, kept),
  );
  const resources = local as unknown as FhirResource[];
  return {
    resources,
    /**
     * Not stored: names another patient, names no patient although its type
     * must, or lacks a type or a valid id.
     */
    misattributed,
    /** How many of them name another patient. */
    otherCount,
    /** Why others are not stored, and what the source reports. */
    reported: joinedReports(reportedIn(entries), {
      gaps: countedGaps(unusable),
      warnings: [],
    }),
    /**
     * Resources that the source reports as deleted or that now name another
     * person.
     */
    retracted: withoutThose(retracted, kept),
    /**
     * Whether the response contains another Patient and nothing about the
     * requested patients.
     */
    isAboutAnother: hasOtherPatient && !hasOurs,
  };
}

function unusableBecause(resource: Record<string, unknown>): string {
  if (!isResourceId(resource.id)) return 'without a valid id';
  const subject = [resource.subject, resource.patient].flat().find(isRecord);
  return subject?.identifier === undefined
    ? 'without a patient'
    : "with the patient's number instead of a reference";
}

function unreadableBecause(
  resource: Record<string, unknown>,
): string | undefined {
  const faults = r4Faults(resource);
  if (faults.some(({ isOfOtherVersion }) => isOfOtherVersion))
    return 'in another version of FHIR than R4';
  return faults.some(({ isHugeNumber }) => isHugeNumber)
    ? 'with a number that is too large to be stored'
    : undefined;
}

/** Drops retractions of resources that the same response also contains. */
function withoutThose(
  retracted: Retraction[],
  kept: Array<Record<string, unknown>>,
): Retraction[] {
  if (retracted.length === 0) return [];
  const names = new Set(
    kept.map(({ resourceType, id }) => `${String(resourceType)}/${String(id)}`),
  );
  return retracted.filter(
    ({ resourceType, id }) => !names.has(`${resourceType}/${id}`),
  );
}

/**
 * From a lab, keeps Observations only if they are laboratory results or a
 * DiagnosticReport lists them as results.
 */
function wanted(
  source: SourceType,
  resources: Array<Record<string, unknown>>,
): Array<Record<string, unknown>> {
  if (source !== 'lab') return resources;
  const reported = new Set(
    resources.flatMap((resource) => reportedObservations(resource)),
  );
  return resources.filter(
    (resource) =>
      resource.resourceType !== 'Observation' ||
      isLaboratory(resource) ||
      reported.has(`Observation/${String(resource.id)}`),
  );
}

function reportedObservations(resource: Record<string, unknown>): string[] {
  if (
    resource.resourceType !== 'DiagnosticReport' ||
    !Array.isArray(resource.result)
  )
    return [];
  const results: unknown[] = resource.result;
  return results.flatMap((result) => {
    const match = isRecord(result)
      ? /Observation\/[^/]+/.exec(String(result.reference))
      : null;
    return match === null ? [] : [match[0]];
  });
}

/**
 * Whether the category is `laboratory`. An Observation from a lab without a
 * category counts as one.
 */
function isLaboratory(observation: Record<string, unknown>): boolean {
  const codings = [observation.category].flat().flatMap((category) => {
    return isRecord(category) && Array.isArray(category.coding)
      ? (category.coding as unknown[])
      : [];
  });
  return (
    codings.length === 0 ||
    codings.some((coding) => isRecord(coding) && coding.code === 'laboratory')
  );
}

function patientUrns(entries: ResponseEntry[]): Map<string, string> {
  const urns = new Map<string, string>();
  for (const { resource, fullUrl } of entries) {
    if (
      !fullUrl?.startsWith('urn:') ||
      !isRecord(resource) ||
      resource.resourceType !== 'Patient'
    )
      continue;
    urns.set(fullUrl, isResourceId(resource.id) ? resource.id : '');
  }
  return urns;
}

/**
 * The deletions that an entry reports: its own, or those listed in the Bundle
 * it holds (FHIR Bulk Data, `deleted`).
 */
function deletionsIn(
  config: ResolvedSourceConfig,
  { deleted, resource }: ResponseEntry,
): Retraction[] {
  if (deleted !== undefined) {
    const identity = identityAt(config, deleted);
    return identity === undefined
      ? []
      : [{ ...identity, reason: 'deleted', revision: '', patientIds: [] }];
  }
  if (
    !isRecord(resource) ||
    resource.resourceType !== 'Bundle' ||
    !Array.isArray(resource.entry)
  )
    return [];
  const inner: unknown[] = resource.entry;
  // One level is enough: a list of deletions does not contain further lists.
  return inner
    .map(responseEntry)
    .flatMap((entry) =>
      entry.deleted === undefined ? [] : deletionsIn(config, entry),
    );
}

/**
 * A retraction for a resource that names another patient; it may have named
 * this patient before.
 */
function movedAway(
  resource: Record<string, unknown>,
  subjects: Subjects,
): Retraction[] {
  const { resourceType, id } = resource;
  // A Patient resource cannot move to another patient.
  if (
    typeof resourceType !== 'string' ||
    resourceType === 'Patient' ||
    !isResourceId(id)
  )
    return [];
  const revision = revisionOf(resource as Json);
  return [
    {
      resourceType,
      id,
      reason: 'moved',
      revision,
      patientIds: namedPatientIds(resource, subjects),
    },
  ];
}

function identityAt(
  config: ResolvedSourceConfig,
  address: string,
): Identity | undefined {
  const local = /^https?:/.test(address)
    ? localReferenceOf(config, address)
    : address;
  const [, resourceType, id] =
    /^\/?([A-Z][A-Za-z]+)\/([^/?#]+)(?:\/_history\/[^/?#]+)?$/.exec(
      local ?? '',
    ) ?? [];
  return resourceType !== undefined && isResourceId(id)
    ? { resourceType, id }
    : undefined;
}
