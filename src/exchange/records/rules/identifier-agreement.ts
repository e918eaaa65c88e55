import { meaningOf, meaningsOf } from './codes.ts';
import { day, firstMoment, moment } from './dates.ts';
import {
  absenceDay,
  classOf,
  dayOf,
  humanName,
  medicationOf,
  type Related,
  valueKind,
} from './fingerprints.ts';
import { canonicalJson, comparableText, isJson, type Json, objectsOf } from './json.ts';

type AgreeingParts = (resource: Json, related: Related) => readonly unknown[];

/** A key for a concept: its meaning, or its full content if it has none, so that two unknown concepts stay distinct. */
const conceptKey = (value: unknown): string =>
  meaningOf(value) ?? (value === undefined ? '' : canonicalJson(value));

const at = (resource: Json, ...elements: string[]): string => firstMoment(resource, elements) ?? '';

const period = (value: unknown): unknown[] =>
  isJson(value) ? [moment(value.start) ?? '', moment(value.end) ?? ''] : ['', ''];

/** A key for references: display or identifier, since an id is meaningful only at its source. */
const partyKey = (value: unknown): string =>
  objectsOf(value)
    .map(({ display, identifier, reference }) =>
      canonicalJson(comparableText(display) ?? identifier ?? reference ?? ''),
    )
    .sort()
    .join();

const drug = (resource: Json, related: Related): string =>
  medicationOf(resource, related) ??
  canonicalJson([resource.medicationCodeableConcept, resource.medicationReference]);

const taken: AgreeingParts = (resource, related) => [drug(resource, related), dayOf(resource) ?? ''];
const coded: AgreeingParts = (resource) => [conceptKey(resource.code), dayOf(resource) ?? ''];

const billed: AgreeingParts = ({
  type,
  use,
  status,
  outcome,
  created,
  billablePeriod,
  total,
  item,
  payment,
}) => [
  conceptKey(type),
  use,
  status,
  outcome,
  moment(created),
  period(billablePeriod),
  total,
  objectsOf(item).map(({ productOrService, servicedDate, servicedPeriod, quantity, net }) => [
    conceptKey(productOrService),
    moment(servicedDate),
    period(servicedPeriod),
    quantity,
    net,
  ]),
  isJson(payment) ? [payment.amount, payment.date] : '',
];

/**
 * What must agree, besides a shared business identifier, for two resources to be the same thing, by type: orders, claims
 * and insurance cards give one number to several things. An element missing from both agrees. For types not listed here
 * the whole content must agree.
 */
export const AGREEING_WITH_IDENTIFIER: Readonly<Record<string, AgreeingParts>> = {
  AllergyIntolerance: (resource) => [
    conceptKey(resource.code),
    resource.code === undefined
      ? meaningsOf(objectsOf(resource.reaction).map(({ substance }) => substance))
      : '',
    ...absenceDay(resource),
  ],
  Claim: billed,
  Condition: (resource) => [
    conceptKey(resource.code),
    day(firstMoment(resource, ['onsetDateTime', 'onsetPeriod', 'recordedDate'])) ?? '',
  ],
  Coverage: ({
    type,
    status,
    period: valid,
    payor,
    subscriberId,
    dependent,
    relationship,
    order,
    ...rest
  }) => [
    conceptKey(type),
    status,
    period(valid),
    partyKey(payor),
    [subscriberId, dependent, conceptKey(relationship), order],
    objectsOf(rest.class).map(({ type: kind, value }) => [conceptKey(kind), value]),
  ],
  Device: ({ type, serialNumber, lotNumber, status }) => [conceptKey(type), serialNumber, lotNumber, status],
  DiagnosticReport: coded,
  DocumentReference: ({ type, date, content }) => [
    conceptKey(type),
    moment(date),
    objectsOf(content).map(({ attachment }) => {
      const { hash, data, title, contentType } = isJson(attachment) ? attachment : {};
      return [hash ?? data ?? [title, isJson(attachment) ? attachment.url : ''], contentType];
    }),
  ],
  Encounter: (resource) => [classOf(resource) ?? '', meaningsOf(resource.type), dayOf(resource) ?? ''],
  ExplanationOfBenefit: billed,
  ImagingStudy: ({ started, series, modality }) => [
    moment(started),
    objectsOf(series).map(({ uid }) => uid),
    canonicalJson(modality ?? ''),
  ],
  Immunization: ({ vaccineCode, occurrenceDateTime, occurrenceString }) => [
    conceptKey(vaccineCode),
    day(occurrenceDateTime) ?? comparableText(occurrenceString),
  ],
  Location: ({ name }) => [comparableText(name)],
  MedicationAdministration: taken,
  MedicationDispense: taken,
  MedicationRequest: taken,
  MedicationStatement: taken,
  Observation: (resource) => [
    conceptKey(resource.code),
    dayOf(resource) ?? '',
    valueKind(resource),
    objectsOf(resource.component)
      .map((part) => `${conceptKey(part.code)}=${valueKind(part)}`)
      .sort(),
  ],
  Organization: ({ name }) => [comparableText(name)],
  Practitioner: (resource) => [humanName(resource) ?? canonicalJson(resource.name ?? '')],
  Procedure: coded,
  RelatedPerson: (resource) => [
    humanName(resource) ?? canonicalJson(resource.name ?? ''),
    meaningsOf(resource.relationship),
  ],
  ServiceRequest: coded,
  Specimen: (resource) => [
    conceptKey(resource.type),
    at(resource, 'collection.collectedDateTime', 'collection.collectedPeriod', 'receivedTime'),
  ],
};

/**
 * What an identifier identifies while the statement under it changes, by type: of what is kept in lists only the thing itself, of what
 * happened also the time, because some sources number kinds of results. Undefined where a part is missing.
 */
export const STATED: Readonly<Record<string, AgreeingParts>> = {
  AllergyIntolerance: ({ code }) => [meaningOf(code)],
  Condition: ({ code }) => [meaningOf(code)],
  DiagnosticReport: (resource) => [meaningOf(resource.code), dayOf(resource)],
  Encounter: (resource) => [dayOf(resource)],
  Immunization: ({ vaccineCode, occurrenceDateTime }) => [meaningOf(vaccineCode), day(occurrenceDateTime)],
  MedicationRequest: (resource, related) => [medicationOf(resource, related)],
  MedicationStatement: (resource, related) => [medicationOf(resource, related)],
  Observation: (resource) => [meaningOf(resource.code), dayOf(resource), meaningOf(resource.bodySite) ?? ''],
  Procedure: (resource) => [meaningOf(resource.code), dayOf(resource)],
};
