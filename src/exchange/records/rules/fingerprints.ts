import {
  absencesIn,
  canonicalJson,
  comparableText,
  day,
  dayToFindBy,
  firstMoment,
  isEnteredInError,
  isJson,
  isNullFlavor,
  type Json,
  meaningOf,
  meaningsBySystem,
  meaningsOf,
  measureIn,
  moment,
  momentOf,
  objectsOf,
  textOf,
  valueMeaning,
} from '#record-summary/fhir';
import { lookupTable } from '../../../lib/lookup-table.ts';

/**
 * What a fingerprint needs from another resource: the code of the Medication
 * that a prescription refers to.
 */
export interface Related {
  medication?: string;
}

/**
 * The values that identify a thing; undefined when the resource contains too
 * little to identify it.
 */
type Fingerprint = (
  resource: Json,
  related: Related,
) => readonly unknown[] | undefined;

/**
 * A statement of absence is true for one day only: one of another day is a
 * different statement.
 */
export const absenceDay = (resource: Json): string[] =>
  absencesIn(resource).length > 0
    ? [day(resource, 'recordedDate', 'onsetDateTime') ?? '']
    : [];

/**
 * The class of an Encounter; undefined for an "unknown" that a converter wrote.
 */
export function classOf(encounter: Json): string | undefined {
  const { system, code } = isJson(encounter.class) ? encounter.class : {};
  return isNullFlavor(system) ? undefined : textOf(code);
}

/**
 * Whom or what a result is about, if not the person: a donor, a fetus, a
 * device.
 */
export const focusOf = ({ focus }: Json): string[] =>
  focus === undefined ? [] : [canonicalJson(focus)];

/**
 * A value without its number: the unit and comparator of a measure, otherwise
 * the value itself.
 */
export function valueKind(resource: Json): string {
  const { value, measure } = measureIn(resource);
  if (value === undefined) return meaningOf(resource.dataAbsentReason) ?? '';
  return measure === undefined
    ? valueMeaning(value)
    : `${measure.comparator}# ${measure.unit}`;
}

/** The parts, or undefined when one of them is missing. */
const whole = (...parts: readonly unknown[]): readonly unknown[] | undefined =>
  parts.some((part) => part === undefined) ? undefined : parts;

/**
 * The drug: coded in the resource, in a contained Medication, or in a
 * Medication delivered separately.
 */
export const medicationOf = (
  resource: Json,
  { medication }: Related,
): string | undefined =>
  meaningOf(resource.medicationCodeableConcept) ??
  containedMedication(resource) ??
  medication;

function containedMedication({
  medicationReference,
  contained,
}: Json): string | undefined {
  const reference = isJson(medicationReference)
    ? textOf(medicationReference.reference)
    : undefined;
  if (!reference?.startsWith('#')) return undefined;
  return meaningOf(
    objectsOf(contained).find(({ id }) => id === reference.slice(1))?.code,
  );
}

/**
 * Whether and how a resource negates its statement. "Must not be done" is kept
 * apart from "was not done", so that neither can swallow the other.
 */
export function negation(resource: Json): false | 'not-done' | 'prohibited' {
  if (resource.doNotPerform === true) return 'prohibited';
  const isRefuted = meaningsOf(resource.verificationStatus).some((meaning) =>
    meaning.endsWith('|refuted'),
  );
  return resource.status === 'not-done' || isRefuted ? 'not-done' : false;
}

/**
 * First address line and zip: enough to compare addresses that are written
 * differently.
 */
function placeOf(resource: Json): string | undefined {
  const [address] = objectsOf(resource.address);
  const line = comparableText(
    Array.isArray(address?.line) ? (address.line as unknown[])[0] : undefined,
  );
  const zip = textOf(address?.postalCode)?.replaceAll(/\D/g, '').slice(0, 5);
  return line === undefined || !zip ? undefined : `${line} ${zip}`;
}

export function comparableName(resource: Json): string | undefined {
  const [name] = objectsOf(resource.name);
  const given = Array.isArray(name?.given)
    ? (name.given as unknown[])[0]
    : undefined;
  const family = comparableText(name?.family);
  const first = comparableText(given);
  return family === undefined || first === undefined
    ? undefined
    : `${first} ${family}`;
}

const phoneOf = (resource: Json): string | undefined =>
  objectsOf(resource.telecom)
    .filter(({ system }) => system === 'phone')
    .map(({ value }) => (textOf(value) ?? '').replaceAll(/\D/g, '').slice(-10))
    .find((digits) => digits.length === 10);

/**
 * The day of a resource, which is part of its keys; `assertions.ts` says which
 * moments of a day agree.
 */
export const dayOf = (resource: Json): string | undefined =>
  dayToFindBy(momentOf(resource));

const medicationTaken: Fingerprint = (resource, related) =>
  whole(medicationOf(resource, related), dayOf(resource), negation(resource));

const coded: Fingerprint = (resource) =>
  whole(meaningOf(resource.code), dayOf(resource), negation(resource));

/**
 * What identifies a thing, by type (explained in docs/merge.md): the elements
 * that distinguish two things of one person, and none that change over time
 * (status, end, notes).
 */
const FINGERPRINTS: Readonly<Record<string, Fingerprint>> = lookupTable({
  AllergyIntolerance: (resource) =>
    whole(
      meaningOf(resource.code) ??
        meaningsOf(objectsOf(resource.reaction).map((r) => r.substance))[0],
      negation(resource),
      ...absenceDay(resource),
    ),
  CarePlan: (resource) =>
    whole(
      meaningsOf(resource.category).join() || comparableText(resource.title),
      firstMoment(resource, ['period', 'created']),
      comparableText(resource.description) ?? '',
    ),
  CareTeam: (resource) =>
    whole(
      meaningsOf(resource.reasonCode).join() ||
        meaningsOf(resource.category).join() ||
        comparableText(resource.name),
      firstMoment(resource, ['period']),
    ),
  Condition: (resource) =>
    whole(
      meaningOf(resource.code),
      day(resource, 'onsetDateTime', 'onsetPeriod', 'recordedDate') ?? '',
      meaningsOf(resource.bodySite).join(),
      negation(resource),
    ),
  Device: (resource) => {
    const udi = objectsOf(resource.udiCarrier).flatMap(
      ({ deviceIdentifier, carrierHRF }) =>
        textOf(carrierHRF) ?? textOf(deviceIdentifier) ?? [],
    );
    const number =
      textOf(resource.serialNumber) ?? textOf(resource.distinctIdentifier);
    return whole(
      udi[0] ?? meaningOf(resource.type),
      number ?? udi[0],
      textOf(resource.lotNumber) ?? '',
    );
  },
  DiagnosticReport: (resource) =>
    whole(
      meaningOf(resource.code),
      dayOf(resource),
      // Two notes written at the same moment differ by their files; a report of
      // results is one with or without its PDF.
      resource.result === undefined
        ? objectsOf(resource.presentedForm).flatMap(
            ({ hash, data }) => textOf(hash) ?? textOf(data) ?? [],
          )
        : '',
    ),
  DocumentReference: (resource) => {
    const attachments = objectsOf(resource.content).map(({ attachment }) =>
      isJson(attachment) ? attachment : {},
    );
    const hashes = attachments.flatMap(
      ({ hash, data }) => textOf(hash) ?? textOf(data) ?? [],
    );
    if (hashes.length > 0) return [hashes.sort()];
    return whole(
      meaningOf(resource.type),
      moment(resource.date),
      textOf(attachments[0]?.title) ?? '',
    );
  },
  Encounter: (resource) =>
    whole(
      meaningsOf(resource.type).join() || classOf(resource),
      dayOf(resource),
    ),
  FamilyMemberHistory: (resource) =>
    whole(
      meaningOf(resource.relationship),
      comparableText(resource.name) ?? '',
      meaningsOf(objectsOf(resource.condition).map(({ code }) => code)).join(),
    ),
  Goal: (resource) =>
    whole(meaningOf(resource.description), day(resource, 'startDate')),
  ImagingStudy: (resource) => {
    const series = objectsOf(resource.series).flatMap(
      ({ uid }) => textOf(uid) ?? [],
    );
    return series.length > 0 ? [series.sort()] : undefined;
  },
  Immunization: (resource) =>
    whole(
      meaningOf(resource.vaccineCode),
      day(resource, 'occurrenceDateTime') ??
        comparableText(resource.occurrenceString),
      negation(resource),
    ),
  Location: (resource) =>
    whole(comparableText(resource.name), placeOf(resource)),
  MedicationAdministration: medicationTaken,
  MedicationDispense: (resource, related) =>
    whole(
      medicationOf(resource, related),
      dayOf(resource),
      isJson(resource.quantity) ? String(resource.quantity.value) : '',
    ),
  MedicationRequest: medicationTaken,
  MedicationStatement: medicationTaken,
  Observation: (resource) =>
    whole(
      meaningOf(resource.code),
      dayOf(resource),
      // Of a number only its unit; `assertions.ts` decides which numbers agree.
      valueKind(resource),
      objectsOf(resource.component)
        .map((part) => `${meaningOf(part.code) ?? ''}=${valueKind(part)}`)
        .sort(),
      meaningOf(resource.bodySite) ?? '',
      ...focusOf(resource),
    ),
  Organization: (resource) =>
    whole(comparableText(resource.name), placeOf(resource)),
  Practitioner: (resource) =>
    whole(comparableName(resource), placeOf(resource) ?? phoneOf(resource)),
  Procedure: coded,
  RelatedPerson: (resource) =>
    whole(
      comparableName(resource),
      meaningsOf(resource.relationship).join() || phoneOf(resource),
    ),
  ServiceRequest: coded,
  Specimen: (resource) =>
    whole(
      meaningOf(resource.type),
      firstMoment(resource, [
        'collection.collectedDateTime',
        'collection.collectedPeriod',
        'receivedTime',
      ]),
    ),
});

/**
 * What identifies the thing that a resource describes, whichever source
 * delivered it. Undefined when that is unknown: then only a business identifier
 * can unite it with others.
 */
export function resourceFingerprint(
  resource: Json,
  related: Related,
): readonly unknown[] | undefined {
  // A retracted statement must not be united with one that stands.
  return isEnteredInError(resource)
    ? undefined
    : contentFingerprint(resource, related);
}

/** The same, also of a retracted statement. */
export const contentFingerprint = (
  resource: Json,
  related: Related,
): readonly unknown[] | undefined =>
  FINGERPRINTS[textOf(resource.resourceType) ?? '']?.(resource, related);

/**
 * The element whose code comes first in a fingerprint, by type; `code` for the
 * others.
 */
const MAIN: Readonly<Record<string, string>> = lookupTable({
  Goal: 'description',
  Immunization: 'vaccineCode',
  MedicationAdministration: 'medicationCodeableConcept',
  MedicationDispense: 'medicationCodeableConcept',
  MedicationRequest: 'medicationCodeableConcept',
  MedicationStatement: 'medicationCodeableConcept',
  Specimen: 'type',
});
export const mainElement = (type: string): string => MAIN[type] ?? 'code';

/**
 * A fingerprint with each other code of the thing that it identifies: two
 * sources may share a code of any system.
 */
export function alternatives(
  resource: Json,
  fingerprint: readonly unknown[],
): (readonly unknown[])[] {
  const concept = resource[mainElement(textOf(resource.resourceType) ?? '')];
  const [main, ...rest] = fingerprint;
  if (!isJson(concept) || meaningOf(concept) !== main) return [fingerprint];
  const meanings = [...meaningsBySystem(concept).values()].flat();
  if (meanings.length === 0) return [fingerprint];
  // The first of several codes of one system, whose others are translations.
  const [first] = objectsOf(concept.coding);
  const own = first && meaningOf({ coding: [first] });
  if (own !== undefined && !own.startsWith('text|')) meanings.push(own);
  return [...new Set([main, ...meanings])].map((meaning) => [meaning, ...rest]);
}
