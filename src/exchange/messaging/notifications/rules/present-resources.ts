import type { DiagnosticReport, FhirResource } from 'fhir/r4.js';
import { type ReportedResource, statusRank } from '#hl7v2-to-fhir';

export interface ReportedVersion {
  resources: readonly ReportedResource[];
  /**
   * When the sender recorded it: between versions of one time the status
   * decides (`statusRank`).
   */
  at: string;
  /**
   * The message may contain only a part of the report, as in HL7 v2: what it
   * leaves out still stands.
   */
  isPartial: boolean;
}

/**
 * What a sender reports today about one encounter, fill or result, according to
 * all its messages in the sender's order. Each resource is as the newest
 * message has it. A resource that the newest message lacks stays, because
 * senders leave out what has not changed; it goes when the newest version of
 * its report no longer lists it, or when nothing identifies it.
 */
export function presentResources(
  versions: readonly ReportedVersion[],
): FhirResource[] {
  const present = new Map<string, ReportedResource & { at: string }>();
  for (const { resources, isPartial, at } of versions) {
    for (const [name, { isAnonymous }] of present)
      if (isAnonymous === true) present.delete(name);
    for (const reported of resources) {
      const name = referenceTo(reported.resource);
      const before = present.get(name);
      if (before?.at === at && rankOf(before) > rankOf(reported)) {
        if (before.isStatusOnly === true)
          present.set(name, { ...withStatus(reported, before), at });
        continue;
      }
      if (!isPartial)
        for (const gone of delisted(before?.resource, reported.resource))
          present.delete(gone);
      present.set(name, {
        ...(reported.isStatusOnly === true
          ? withStatus(before, reported)
          : reported),
        at,
      });
    }
  }
  const isPartial = versions.at(-1)?.isPartial === true;
  const all = [...present.values()].map(({ resource }) => resource);
  if (!isPartial) return all;
  const standing = isCancelled(all) ? all.map(withoutOutlook) : all;
  return standing.map((resource) => withAllResults(resource, standing));
}

/** Whether the report itself was cancelled (OBR-25 X). */
const isCancelled = (all: readonly FhirResource[]): boolean =>
  all.some(
    (resource) =>
      resource.resourceType === 'DiagnosticReport' &&
      resource.status === 'cancelled',
  );

const AWAITED: ReadonlySet<string> = new Set([
  'registered',
  'preliminary',
  'unknown',
]);

/** No final value follows a preliminary one whose report was cancelled. */
const withoutOutlook = (resource: FhirResource): FhirResource =>
  resource.resourceType === 'Observation' && AWAITED.has(resource.status)
    ? { ...resource, status: 'cancelled' }
    : resource;

const rankOf = ({ resource }: ReportedResource): number =>
  statusRank('status' in resource ? resource.status : undefined);

const referenceTo = ({ resourceType, id }: FhirResource): string =>
  `${resourceType}/${id}`;

/**
 * The results that the version of a report before listed and this one does not.
 */
function delisted(
  before: FhirResource | undefined,
  now: FhirResource,
): string[] {
  const listed = resultsOf(now);
  return listed.length === 0
    ? []
    : resultsOf(before).filter((name) => !listed.includes(name));
}

const resultsOf = (resource: FhirResource | undefined): string[] =>
  resource?.resourceType === 'DiagnosticReport'
    ? (resource.result ?? []).flatMap(({ reference }) => reference ?? [])
    : [];

const withStatus = (
  before: ReportedResource | undefined,
  now: ReportedResource,
): ReportedResource => ({
  // Without a version before, a later one of the same time brings what was
  // reported.
  ...(before === undefined || before.isStatusOnly === true
    ? { isStatusOnly: true }
    : {}),
  resource: {
    ...(before?.resource ?? now.resource),
    status: (now.resource as { status?: string }).status,
    ...('docStatus' in now.resource
      ? { docStatus: now.resource.docStatus }
      : {}),
  } as ReportedResource['resource'],
});

/**
 * A report lists what all messages reported. If every result was taken back, so
 * was the report.
 */
function withAllResults(
  resource: FhirResource,
  all: readonly FhirResource[],
): FhirResource {
  if (resource.resourceType !== 'DiagnosticReport') return resource;
  const results = all.filter(
    ({ resourceType }) => resourceType === 'Observation',
  );
  if (results.length === 0) return resource;
  const isTakenBack = results.every(
    (result) => 'status' in result && result.status === 'entered-in-error',
  );
  const report: DiagnosticReport = {
    ...resource,
    result: results.map((result) => ({ reference: referenceTo(result) })),
  };
  return isTakenBack ? { ...report, status: 'entered-in-error' } : report;
}
