import { type ClinicalItem, UnreadableMessageError } from '../inbound.ts';
import { statusRank } from '../rules/status-rank.ts';
import { type BundleContents, nameOf, toInstant } from './contents.ts';
import type { Read, ReadResource } from './schemas.ts';

const REPORTED = new Set(['final', 'amended', 'corrected', 'appended', 'preliminary', 'partial']);

/** The medication fills: each MedicationDispense or, in a Bundle without any, each MedicationRequest. */
export function fillsOf(contents: BundleContents): ClinicalItem[] {
  const dispenses = contents.all('MedicationDispense');
  if (dispenses.length > 0)
    return dispenses.map((dispense) => ({
      sourceId: idOf(dispense),
      at: toInstant(dispense.whenHandedOver ?? dispense.whenPrepared),
      isTrue:
        dispense.status === 'completed' ||
        (dispense.status === 'in-progress' && dispense.whenHandedOver !== undefined),
      rank: statusRank(dispense.status),
    }));
  return contents.all('MedicationRequest').map((request) => ({
    sourceId: idOf(request),
    isTrue: request.status === 'active' || request.status === 'completed',
  }));
}

/** The laboratory results: each DiagnosticReport or, in a Bundle without any, the Observations of each specimen together. */
export function resultsOf(contents: BundleContents): ClinicalItem[] {
  const reports = contents.all('DiagnosticReport');
  if (reports.length > 0)
    return reports.map((report) => ({
      sourceId: idOf(report),
      at: takenAt(report, report.specimen?.[0]?.reference, contents),
      isTrue: REPORTED.has(report.status),
      rank: statusRank(report.status),
    }));
  const bySpecimen = new Map<string, ClinicalItem>();
  for (const observation of contents.all('Observation')) {
    const specimen = observation.specimen?.reference;
    const sourceId = specimen ?? idOf(observation);
    bySpecimen.set(sourceId, {
      sourceId,
      at: takenAt(observation, specimen, contents) ?? bySpecimen.get(sourceId)?.at,
      isTrue: REPORTED.has(observation.status) || bySpecimen.get(sourceId)?.isTrue === true,
      rank: Math.max(statusRank(observation.status), bySpecimen.get(sourceId)?.rank ?? 0),
    });
  }
  return [...bySpecimen.values()];
}

function takenAt(
  result: Read<'DiagnosticReport'> | Read<'Observation'>,
  specimen: string | undefined,
  contents: BundleContents,
): string | undefined {
  const collection = contents.resolve('Specimen', specimen)?.collection;
  return toInstant(
    collection?.collectedDateTime ??
      collection?.collectedPeriod?.start ??
      result.effectiveDateTime ??
      result.effectivePeriod?.start,
  );
}

function idOf(resource: ReadResource): string {
  const name = nameOf(resource);
  if (name !== undefined) return name;
  const place = `${resource.resourceType}.id`;
  throw new UnreadableMessageError('invalid', `${place} is required, or an identifier with a value`, place);
}
