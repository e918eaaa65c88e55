import { absencesIn } from './absence.ts';
import { meaningOf, meaningsOf, saysNothing, valueIn, valueMeaning } from './codes.ts';
import { day, firstMoment, moment } from './dates.ts';
import { isJson, type Json, objectsOf, plainText, textOf } from './json.ts';
import { measureOf } from './measures.ts';

/** What of another resource a fingerprint needs: the code of the Medication that a prescription refers to. */
export interface Related {
  medication?: string;
}

/** What makes a thing itself, or undefined when a resource tells too little to say so. */
type Fingerprint = (resource: Json, related: Related) => readonly unknown[] | undefined;

/** That there is none is true of a day: the statement of another day is another one. */
export const statedOn = (resource: Json): string[] =>
  absencesIn(resource).length > 0 ? [day(resource.recordedDate) ?? day(resource.onsetDateTime) ?? ''] : [];

/** Of an Encounter; an "unknown" that a converter writes is none. */
export function classOf(encounter: Json): string | undefined {
  const { system, code } = isJson(encounter.class) ? encounter.class : {};
  return saysNothing(system) ? undefined : textOf(code);
}

/** What a value says but for its number. */
export function valueKind(resource: Json): string {
  const found = valueIn(resource);
  if (found === undefined) return meaningOf(resource.dataAbsentReason) ?? '';
  const measure = measureOf(found.value);
  return measure === undefined ? valueMeaning(found.value) : `${measure.comparator}# ${measure.unit}`;
}

/** All parts are needed. */
const whole = (...parts: readonly unknown[]): readonly unknown[] | undefined =>
  parts.some((part) => part === undefined) ? undefined : parts;

/** The drug, wherever it stands: here, in a contained Medication, or in one that was delivered by itself. */
export const medicationOf = (resource: Json, { medication }: Related): string | undefined =>
  meaningOf(resource.medicationCodeableConcept) ?? containedMedication(resource) ?? medication;

function containedMedication({ medicationReference, contained }: Json): string | undefined {
  const reference = isJson(medicationReference) ? textOf(medicationReference.reference) : undefined;
  if (!reference?.startsWith('#')) return undefined;
  return meaningOf(objectsOf(contained).find(({ id }) => id === reference.slice(1))?.code);
}

export const negated = (resource: Json): boolean =>
  resource.status === 'not-done' ||
  resource.doNotPerform === true ||
  meaningsOf(resource.verificationStatus).some((meaning) => meaning.endsWith('|refuted'));

/** Of two addresses that are written differently, number and zip tell enough. */
function placeOf(resource: Json): string | undefined {
  const [address] = objectsOf(resource.address);
  const line = plainText(Array.isArray(address?.line) ? (address.line as unknown[])[0] : undefined);
  const zip = textOf(address?.postalCode)?.replaceAll(/\D/g, '').slice(0, 5);
  return line === undefined || !zip ? undefined : `${line} ${zip}`;
}

export function humanName(resource: Json): string | undefined {
  const [name] = objectsOf(resource.name);
  const given = Array.isArray(name?.given) ? (name.given as unknown[])[0] : undefined;
  const [family, first] = [plainText(name?.family), plainText(given)];
  return family === undefined || first === undefined ? undefined : `${first} ${family}`;
}

const phoneOf = (resource: Json): string | undefined =>
  objectsOf(resource.telecom)
    .filter(({ system }) => system === 'phone')
    .map(({ value }) => (textOf(value) ?? '').replaceAll(/\D/g, '').slice(-10))
    .find((digits) => digits.length === 10);

const medicationTaken =
  (...dates: string[]): Fingerprint =>
  (resource, related) =>
    whole(medicationOf(resource, related), firstMoment(resource, dates), negated(resource));

const coded =
  (code: string, ...dates: string[]): Fingerprint =>
  (resource) =>
    whole(meaningOf(resource[code]), firstMoment(resource, dates), negated(resource));

/**
 * What is the same thing, by type (docs/merge.md has it in words). Each holds what tells two things of one person
 * apart, and nothing that changes as a thing goes on (status, end, notes).
 */
const FINGERPRINTS: Readonly<Record<string, Fingerprint>> = {
  AllergyIntolerance: (resource) =>
    whole(
      meaningOf(resource.code) ?? meaningsOf(objectsOf(resource.reaction).map((r) => r.substance))[0],
      negated(resource),
      ...statedOn(resource),
    ),
  CarePlan: (resource) =>
    whole(
      meaningsOf(resource.category).join() || plainText(resource.title),
      firstMoment(resource, ['period', 'created']),
      plainText(resource.description) ?? '',
    ),
  CareTeam: (resource) =>
    whole(
      meaningsOf(resource.reasonCode).join() ||
        meaningsOf(resource.category).join() ||
        plainText(resource.name),
      firstMoment(resource, ['period']),
    ),
  Condition: (resource) =>
    whole(
      meaningOf(resource.code),
      day(resource.onsetDateTime) ??
        day(isJson(resource.onsetPeriod) ? resource.onsetPeriod.start : undefined) ??
        day(resource.recordedDate) ??
        '',
      meaningsOf(resource.bodySite).join(),
      negated(resource),
    ),
  Device: (resource) => {
    const udi = objectsOf(resource.udiCarrier).flatMap(
      ({ deviceIdentifier, carrierHRF }) => textOf(carrierHRF) ?? textOf(deviceIdentifier) ?? [],
    );
    const number = textOf(resource.serialNumber) ?? textOf(resource.distinctIdentifier);
    return whole(udi[0] ?? meaningOf(resource.type), number ?? udi[0], textOf(resource.lotNumber) ?? '');
  },
  DiagnosticReport: (resource) =>
    whole(
      meaningOf(resource.code),
      firstMoment(resource, ['effectiveDateTime', 'effectivePeriod', 'issued']),
      // Two who write notes at one moment write two notes; a report of results is one, with or without its PDF.
      resource.result === undefined
        ? objectsOf(resource.presentedForm).flatMap(({ hash, data }) => textOf(hash) ?? textOf(data) ?? [])
        : '',
    ),
  DocumentReference: (resource) => {
    const attachments = objectsOf(resource.content).map(({ attachment }) =>
      isJson(attachment) ? attachment : {},
    );
    const hashes = attachments.flatMap(({ hash, data }) => textOf(hash) ?? textOf(data) ?? []);
    if (hashes.length > 0) return [hashes.sort()];
    return whole(meaningOf(resource.type), moment(resource.date), textOf(attachments[0]?.title) ?? '');
  },
  Encounter: (resource) =>
    whole(meaningsOf(resource.type).join() || classOf(resource), firstMoment(resource, ['period'])),
  FamilyMemberHistory: (resource) =>
    whole(
      meaningOf(resource.relationship),
      plainText(resource.name) ?? '',
      meaningsOf(objectsOf(resource.condition).map(({ code }) => code)).join(),
    ),
  Goal: (resource) => whole(meaningOf(resource.description), day(resource.startDate)),
  ImagingStudy: (resource) => {
    const series = objectsOf(resource.series).flatMap(({ uid }) => textOf(uid) ?? []);
    return series.length > 0 ? [series.sort()] : undefined;
  },
  Immunization: (resource) =>
    whole(
      meaningOf(resource.vaccineCode),
      day(resource.occurrenceDateTime) ?? plainText(resource.occurrenceString),
      negated(resource),
    ),
  Location: (resource) => whole(plainText(resource.name), placeOf(resource)),
  MedicationAdministration: medicationTaken('effectiveDateTime', 'effectivePeriod'),
  MedicationDispense: (resource, related) =>
    whole(
      medicationOf(resource, related),
      firstMoment(resource, ['whenHandedOver', 'whenPrepared']),
      isJson(resource.quantity) ? String(resource.quantity.value) : '',
    ),
  MedicationRequest: medicationTaken('authoredOn', 'dispenseRequest.validityPeriod'),
  MedicationStatement: medicationTaken('effectiveDateTime', 'effectivePeriod', 'dateAsserted'),
  Observation: (resource) =>
    whole(
      meaningOf(resource.code),
      firstMoment(resource, ['effectiveDateTime', 'effectivePeriod', 'effectiveInstant', 'issued']),
      // Of a number only its unit: how near another must be is for `told.ts` to say.
      valueKind(resource),
      objectsOf(resource.component)
        .map((part) => `${meaningOf(part.code) ?? ''}=${valueKind(part)}`)
        .sort(),
      meaningOf(resource.bodySite) ?? '',
    ),
  Organization: (resource) => whole(plainText(resource.name), placeOf(resource)),
  Practitioner: (resource) => whole(humanName(resource), placeOf(resource) ?? phoneOf(resource)),
  Procedure: coded('code', 'performedDateTime', 'performedPeriod'),
  RelatedPerson: (resource) =>
    whole(humanName(resource), meaningsOf(resource.relationship).join() || phoneOf(resource)),
  ServiceRequest: coded('code', 'authoredOn', 'occurrenceDateTime', 'occurrencePeriod'),
  Specimen: (resource) =>
    whole(
      meaningOf(resource.type),
      firstMoment(resource, ['collection.collectedDateTime', 'collection.collectedPeriod', 'receivedTime']),
    ),
};

/**
 * What makes this thing itself, apart from who tells of it. Undefined when it cannot be said: then only a business
 * identifier unites it with anything.
 */
export function fingerprintOf(resource: Json, related: Related): readonly unknown[] | undefined {
  // Nobody else's statement is the same as one that was taken back.
  if (isEnteredInError(resource)) return undefined;
  return FINGERPRINTS[textOf(resource.resourceType) ?? '']?.(resource, related);
}

export function isEnteredInError(resource: Json): boolean {
  return (
    resource.status === 'entered-in-error' ||
    meaningsOf(resource.verificationStatus).some((meaning) => meaning.endsWith('|entered-in-error'))
  );
}
