import { createHash } from 'node:crypto';
import type { Patient } from 'fhir/r4.js';
import { type InboundContent, type InboundMessage, UnreadableMessageError } from '../inbound.ts';
import { fillsOf, resultsOf } from './clinical-items.ts';
import { BundleContents, jsonOf, nameOf, toInstant } from './contents.ts';
import { encounterEvent } from './encounter.ts';
import { bundleSchema, type Read, type ReadBundle, type ReadType } from './schemas.ts';

/** Types that a Bundle may be about. The message's focus decides, otherwise the first of these that the Bundle contains. */
const SUBJECT_TYPES = [
  'Encounter',
  'MedicationDispense',
  'MedicationRequest',
  'DiagnosticReport',
  'Observation',
] as const satisfies ReadType[];
type SubjectType = (typeof SUBJECT_TYPES)[number];

/**
 * Reads a FHIR R4 Bundle (message or collection) with one Patient and an Encounter, fills or results.
 * Throws UnreadableMessageError, which names the place and never a value.
 */
export function readFhirBundle(bytes: Buffer, now = new Date()): InboundMessage {
  const { bundle, fingerprint } = parse(bytes);
  const contents = new BundleContents(bundle);
  const types = SUBJECT_TYPES.filter((type) => contents.all(type).length > 0);
  const type = (contents.focus(SUBJECT_TYPES) ?? types[0]) as SubjectType | undefined;
  if (type === undefined)
    throw new UnreadableMessageError(
      'unsupported',
      `Not supported: send a Bundle with a Patient and one of ${SUBJECT_TYPES.join(', ')}`,
      'Bundle.entry',
    );
  const subjects = contents.all(type);
  const patient = patientOf(contents, subjects[0]?.subject?.reference);
  const sentAt = toInstant(bundle.timestamp);
  const messageId = messageIdOf(bundle, subjects) ?? createHash('sha256').update(bytes).digest('hex');
  const updatedAt = subjects.flatMap(({ meta }) => toInstant(meta?.lastUpdated) ?? []).sort();
  return {
    messageId,
    formerId: messageId,
    fingerprint,
    trigger: type,
    recordedAt: updatedAt.at(-1) ?? sentAt ?? now.toISOString(),
    sentAt,
    person: patient as Patient,
    sourcePatientId: recordNumber(patient),
    content: contentOf(type, contents),
  };
}

function parse(bytes: Buffer): { bundle: ReadBundle; fingerprint: string } {
  let json: unknown;
  try {
    json = jsonOf(bytes);
  } catch {
    throw new UnreadableMessageError('invalid', 'The body is not valid JSON in UTF-8');
  }
  const parsed = bundleSchema.safeParse(json);
  if (parsed.success) {
    // A Bundle sent again may have another time, as an HL7 v2 message may.
    const said = JSON.stringify({ ...(json as object), timestamp: undefined });
    return { bundle: parsed.data, fingerprint: createHash('sha256').update(said).digest('hex') };
  }
  const [issue] = parsed.error.issues;
  const place = (issue?.path ?? []).reduce<string>(
    (path, part) => (typeof part === 'number' ? `${path}[${part}]` : `${path}.${String(part)}`),
    'Bundle',
  );
  throw new UnreadableMessageError('invalid', issue?.message ?? 'The Bundle cannot be read', place);
}

function contentOf(type: SubjectType, contents: BundleContents): InboundContent {
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
    throw new UnreadableMessageError(
      'invalid',
      'The Bundle contains several Encounters; send one Encounter in each Bundle',
      'Bundle.entry',
    );
  const sourceId = nameOf(encounter);
  if (sourceId === undefined)
    throw new UnreadableMessageError(
      'invalid',
      'Encounter.id is required, or an identifier with a value',
      'Encounter.id',
    );
  return { kind: 'encounter', sourceId, event: encounterEvent(encounter, contents) };
}

function patientOf(contents: BundleContents, reference: string | undefined): Read<'Patient'> {
  const patients = contents.all('Patient');
  const referred = contents.resolve('Patient', reference);
  const patient = referred ?? (patients.length === 1 ? patients[0] : undefined);
  if (patient !== undefined) return patient;
  throw new UnreadableMessageError(
    'invalid',
    patients.length === 0
      ? 'The Bundle contains no Patient; one is required'
      : 'The Bundle contains several Patients, and the subject refers to none of them',
    'Bundle.entry',
  );
}

/** The id of the message; undefined when nothing in the Bundle identifies it. */
function messageIdOf(bundle: ReadBundle, subjects: readonly Read<SubjectType>[]): string | undefined {
  if (bundle.identifier?.value !== undefined)
    return `${bundle.identifier.system ?? ''}|${bundle.identifier.value}`;
  if (bundle.id !== undefined) return `Bundle/${bundle.id}`;
  const versions = subjects.map((subject) => {
    const version = subject.meta?.versionId ?? subject.meta?.lastUpdated;
    const name = nameOf(subject);
    return name === undefined || version === undefined ? undefined : `${name}/_history/${version}`;
  });
  return versions.includes(undefined) ? undefined : versions.sort().join(' ');
}

/** The person's record number at the sender: the medical record number (MR), otherwise the first identifier. */
function recordNumber(patient: Read<'Patient'>): string | undefined {
  const identifiers = (patient.identifier ?? []).filter(({ value }) => value !== undefined);
  const record =
    identifiers.find(({ type }) => type?.coding?.some(({ code }) => code === 'MR')) ?? identifiers[0];
  if (record === undefined) return patient.id && `Patient/${patient.id}`;
  return `${record.value}^${record.system ?? ''}`;
}
