import { createHash } from 'node:crypto';
import type { Encounter, Patient } from 'fhir/r4.js';
import {
  type ClinicalItem,
  invalid,
  statusRank,
  UnreadableMessageError,
} from '#hl7v2-to-fhir';
import { lookupTable } from '../../../../lib/lookup-table.ts';
import { readDescription } from '../../../sources/connectors/patient/choose-candidates.ts';
import type { InboundContent, InboundMessage } from '../inbound.ts';
import type { EncounterEvent, Transfer } from '../rules/encounter-event.ts';
import { statedDeath } from '../rules/stated-death.ts';
import {
  BundleContents,
  jsonOf,
  sentResourceName,
  toInstant,
} from './contents.ts';
import {
  bundleSchema,
  type Read,
  type ReadBundle,
  type ReadResource,
  type ReadType,
} from './schemas.ts';

/**
 * Types that a Bundle may be about. The message's focus decides, otherwise the
 * first of these that the Bundle contains.
 */
const SUBJECT_TYPES = [
  'Encounter',
  'MedicationDispense',
  'MedicationRequest',
  'DiagnosticReport',
  'Observation',
] as const satisfies ReadType[];
type SubjectType = (typeof SUBJECT_TYPES)[number];

/**
 * Reads a FHIR R4 Bundle (message or collection) with one Patient and an
 * Encounter, fills or results. Throws UnreadableMessageError, which names the
 * place and never a value.
 */
export function readFhirBundle(
  bytes: Buffer,
  now = new Date(),
): InboundMessage {
  const { bundle, fingerprint } = parse(bytes);
  const contents = new BundleContents(bundle);
  const types = SUBJECT_TYPES.filter((type) => contents.all(type).length > 0);
  const type = (contents.focus(SUBJECT_TYPES) ?? types[0]) as
    | SubjectType
    | undefined;
  if (type === undefined)
    throw new UnreadableMessageError(
      'unsupported',
      `Not supported: send a Bundle with a Patient and one of ${SUBJECT_TYPES.join(', ')}`,
      'Bundle.entry',
    );
  const subjects = contents.all(type);
  const patient = bundlePatient(contents, subjects[0]?.subject?.reference);
  // Parts that are not as FHIR has them say nothing of who it is.
  const described = readDescription(patient) ?? NOBODY;
  const sentAt = toInstant(bundle.timestamp);
  const messageId =
    messageIdOf(bundle, subjects) ??
    createHash('sha256').update(bytes).digest('hex');
  const updatedAt = subjects
    .flatMap(({ meta }) => toInstant(meta?.lastUpdated) ?? [])
    .sort();
  return {
    messageId,
    fingerprint,
    trigger: type,
    recordedAt: updatedAt.at(-1) ?? sentAt ?? now.toISOString(),
    sentAt,
    person: {
      ...statedDeath(patient as Patient),
      ...described,
      id: patient.id,
    },
    sourcePatientId: recordNumber(patient),
    content: notificationContent(type, contents),
  };
}

const NOBODY: Patient = { resourceType: 'Patient' };

function parse(bytes: Buffer): { bundle: ReadBundle; fingerprint: string } {
  let json: unknown;
  try {
    json = jsonOf(bytes);
  } catch {
    throw invalid('The body is not valid JSON in UTF-8');
  }
  const parsed = bundleSchema.safeParse(json);
  if (parsed.success) {
    // A Bundle sent again may have another time, as an HL7 v2 message may.
    const said = JSON.stringify({ ...(json as object), timestamp: undefined });
    return {
      bundle: parsed.data,
      fingerprint: createHash('sha256').update(said).digest('hex'),
    };
  }
  const [issue] = parsed.error.issues;
  const place = (issue?.path ?? []).reduce<string>(
    (path, part) =>
      typeof part === 'number' ? `${path}[${part}]` : `${path}.${String(part)}`,
    'Bundle',
  );
  throw invalid(issue?.message ?? 'The Bundle cannot be read', place);
}

function notificationContent(
  type: SubjectType,
  contents: BundleContents,
): InboundContent {
  switch (type) {
    case 'Encounter':
      return encounterContent(contents);
    case 'MedicationDispense':
    case 'MedicationRequest':
      return { kind: 'pharmacy', items: fillsOf(contents) };
    case 'DiagnosticReport':
    case 'Observation':
      return { kind: 'laboratory', items: resultsOf(contents) };
  }
}

function encounterContent(contents: BundleContents): InboundContent {
  const [encounter, ...others] = contents.all('Encounter');
  if (encounter === undefined || others.length > 0)
    throw invalid(
      'The Bundle contains several Encounters; send one Encounter in each Bundle',
      'Bundle.entry',
    );
  const sourceId = sentResourceName(encounter);
  if (sourceId === undefined)
    throw invalid(
      'Encounter.id is required, or an identifier with a value',
      'Encounter.id',
    );
  return {
    kind: 'encounter',
    sourceId,
    event: encounterEvent(encounter, contents),
  };
}

function bundlePatient(
  contents: BundleContents,
  reference: string | undefined,
): Read<'Patient'> {
  const patients = contents.all('Patient');
  const referred = contents.resolve('Patient', reference);
  const patient = referred ?? (patients.length === 1 ? patients[0] : undefined);
  if (patient !== undefined) return patient;
  throw invalid(
    patients.length === 0
      ? 'The Bundle contains no Patient; one is required'
      : 'The Bundle contains several Patients, and the subject refers to none of them',
    'Bundle.entry',
  );
}

/**
 * The id of the message; undefined when nothing in the Bundle identifies it.
 */
function messageIdOf(
  bundle: ReadBundle,
  subjects: readonly Read<SubjectType>[],
): string | undefined {
  if (bundle.identifier?.value !== undefined)
    return `${bundle.identifier.system ?? ''}|${bundle.identifier.value}`;
  if (bundle.id !== undefined) return `Bundle/${bundle.id}`;
  const versions = subjects.map((subject) => {
    const version = subject.meta?.versionId ?? subject.meta?.lastUpdated;
    const name = sentResourceName(subject);
    return name === undefined || version === undefined
      ? undefined
      : `${name}/_history/${version}`;
  });
  return versions.includes(undefined) ? undefined : versions.sort().join(' ');
}

/**
 * The person's record number at the sender: the medical record number (MR),
 * otherwise the first identifier.
 */
function recordNumber(patient: Read<'Patient'>): string | undefined {
  const identifiers = (patient.identifier ?? []).filter(
    ({ value }) => value !== undefined,
  );
  const record =
    identifiers.find(({ type }) =>
      type?.coding?.some(({ code }) => code === 'MR'),
    ) ?? identifiers[0];
  if (record === undefined) return patient.id && `Patient/${patient.id}`;
  return `${record.value}^${record.system ?? ''}`;
}

const PHASES: Readonly<Record<string, EncounterEvent['phase']>> = lookupTable({
  arrived: 'open',
  triaged: 'open',
  'in-progress': 'open',
  onleave: 'open',
  finished: 'ended',
  cancelled: 'cancelled',
  'entered-in-error': 'cancelled',
} satisfies Partial<Record<Encounter['status'], EncounterEvent['phase']>>);

/**
 * An Encounter as an event that describes the whole encounter (`snapshot`). A
 * planned Encounter is only an `update`.
 */
function encounterEvent(
  encounter: Read<'Encounter'>,
  contents: BundleContents,
): Omit<EncounterEvent, 'messageKey' | 'arrival' | 'recordedAt' | 'sentAt'> {
  const phase = PHASES[encounter.status];
  const stays = (encounter.location ?? [])
    .map(({ location, period }) => ({
      name:
        location?.display ??
        contents.resolve('Location', location?.reference)?.name,
      from: toInstant(period?.start),
    }))
    .sort((a, b) => ((a.from ?? '') < (b.from ?? '') ? -1 : 1));
  const disposition = encounter.hospitalization?.dischargeDisposition;
  return {
    trigger: phase === undefined ? 'update' : 'snapshot',
    phase,
    admittedAt: toInstant(encounter.period?.start),
    dischargedAt: toInstant(encounter.period?.end),
    encounterClass: encounter.class?.code,
    location: stays.at(-1)?.name,
    disposition: disposition?.coding?.[0]?.code ?? disposition?.text,
    transfers: encounter.location && transfersOf(stays),
  };
}

interface Stay {
  name?: string;
  from?: string;
}

/** A transfer for each stay after the first whose start is known. */
const transfersOf = (stays: readonly Stay[]): Transfer[] =>
  stays.flatMap((stay, index) =>
    index === 0 || stay.from === undefined
      ? []
      : [{ at: stay.from, from: stays[index - 1]?.name, to: stay.name }],
  );

const REPORTED = new Set([
  'final',
  'amended',
  'corrected',
  'appended',
  'preliminary',
  'partial',
]);

/**
 * The medication fills: each MedicationDispense or, in a Bundle without any,
 * each MedicationRequest.
 */
function fillsOf(contents: BundleContents): ClinicalItem[] {
  const dispenses = contents.all('MedicationDispense');
  if (dispenses.length > 0)
    return dispenses.map((dispense) => ({
      sourceId: idOf(dispense),
      at: toInstant(dispense.whenHandedOver ?? dispense.whenPrepared),
      isTrue:
        dispense.status === 'completed' ||
        (dispense.status === 'in-progress' &&
          dispense.whenHandedOver !== undefined),
      rank: statusRank(dispense.status),
    }));
  return contents.all('MedicationRequest').map((request) => ({
    sourceId: idOf(request),
    isTrue: request.status === 'active' || request.status === 'completed',
  }));
}

/**
 * The laboratory results: each DiagnosticReport or, in a Bundle without any,
 * the Observations of each specimen together.
 */
function resultsOf(contents: BundleContents): ClinicalItem[] {
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
      at:
        takenAt(observation, specimen, contents) ??
        bySpecimen.get(sourceId)?.at,
      isTrue:
        REPORTED.has(observation.status) ||
        bySpecimen.get(sourceId)?.isTrue === true,
      rank: Math.max(
        statusRank(observation.status),
        bySpecimen.get(sourceId)?.rank ?? 0,
      ),
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
  const name = sentResourceName(resource);
  if (name !== undefined) return name;
  const place = `${resource.resourceType}.id`;
  throw invalid(`${place} is required, or an identifier with a value`, place);
}
