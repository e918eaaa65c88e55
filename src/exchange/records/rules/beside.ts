import { meaningOf, meaningsOf } from './codes.ts';
import { day, firstMoment, moment } from './dates.ts';
import { classOf, humanName, medicationOf, type Related, statedOn, valueKind } from './fingerprints.ts';
import { canonicalJson, isJson, type Json, objectsOf, plainText } from './json.ts';

type Facts = (resource: Json, related: Related) => readonly unknown[];

/** A concept's meaning; of one that has none, all that it says, so that two unknowns are not taken for one. */
const said = (value: unknown): string =>
  meaningOf(value) ?? (value === undefined ? '' : canonicalJson(value));

const at = (resource: Json, ...elements: string[]): string => firstMoment(resource, elements) ?? '';

const period = (value: unknown): unknown[] =>
  isJson(value) ? [moment(value.start) ?? '', moment(value.end) ?? ''] : ['', ''];

/** What a reference says apart from an id that means something at its source alone. */
const party = (value: unknown): string =>
  objectsOf(value)
    .map(({ display, identifier, reference }) =>
      canonicalJson(plainText(display) ?? identifier ?? reference ?? ''),
    )
    .sort()
    .join();

const drug = (resource: Json, related: Related): string =>
  medicationOf(resource, related) ??
  canonicalJson([resource.medicationCodeableConcept, resource.medicationReference]);

const taken =
  (...elements: string[]): Facts =>
  (resource, related) => [drug(resource, related), at(resource, ...elements)];

const coded =
  (...elements: string[]): Facts =>
  (resource) => [said(resource.code), at(resource, ...elements)];

const billed: Facts = ({ type, use, status, outcome, created, billablePeriod, total, item, payment }) => [
  said(type),
  use,
  status,
  outcome,
  moment(created),
  period(billablePeriod),
  total,
  objectsOf(item).map(({ productOrService, servicedDate, servicedPeriod, quantity, net }) => [
    said(productOrService),
    moment(servicedDate),
    period(servicedPeriod),
    quantity,
    net,
  ]),
  isJson(payment) ? [payment.amount, payment.date] : '',
];

/**
 * What must agree beside a business number, by type: orders, claims and members' cards give one number to several
 * things. What both leave out agrees too. Of a type that is not here everything must.
 */
export const BESIDE_NUMBER: Readonly<Record<string, Facts>> = {
  AllergyIntolerance: (resource) => [
    said(resource.code),
    resource.code === undefined
      ? meaningsOf(objectsOf(resource.reaction).map(({ substance }) => substance))
      : '',
    ...statedOn(resource),
  ],
  Claim: billed,
  Condition: (resource) => [
    said(resource.code),
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
    said(type),
    status,
    period(valid),
    party(payor),
    [subscriberId, dependent, said(relationship), order],
    objectsOf(rest.class).map(({ type: kind, value }) => [said(kind), value]),
  ],
  Device: ({ type, serialNumber, lotNumber, status }) => [said(type), serialNumber, lotNumber, status],
  DiagnosticReport: coded('effectiveDateTime', 'effectivePeriod', 'issued'),
  DocumentReference: ({ type, date, content }) => [
    said(type),
    moment(date),
    objectsOf(content).map(({ attachment }) => {
      const { hash, data, title, contentType } = isJson(attachment) ? attachment : {};
      return [hash ?? data ?? [title, isJson(attachment) ? attachment.url : ''], contentType];
    }),
  ],
  Encounter: (resource) => [classOf(resource) ?? '', meaningsOf(resource.type), at(resource, 'period')],
  ExplanationOfBenefit: billed,
  ImagingStudy: ({ started, series, modality }) => [
    moment(started),
    objectsOf(series).map(({ uid }) => uid),
    canonicalJson(modality ?? ''),
  ],
  Immunization: ({ vaccineCode, occurrenceDateTime, occurrenceString }) => [
    said(vaccineCode),
    day(occurrenceDateTime) ?? plainText(occurrenceString),
  ],
  Location: ({ name }) => [plainText(name)],
  MedicationAdministration: taken('effectiveDateTime', 'effectivePeriod'),
  MedicationDispense: taken('whenHandedOver', 'whenPrepared'),
  MedicationRequest: taken('authoredOn', 'dispenseRequest.validityPeriod'),
  MedicationStatement: taken('effectiveDateTime', 'effectivePeriod', 'dateAsserted'),
  Observation: (resource) => [
    said(resource.code),
    at(resource, 'effectiveDateTime', 'effectivePeriod', 'effectiveInstant', 'issued'),
    valueKind(resource),
    objectsOf(resource.component)
      .map((part) => `${said(part.code)}=${valueKind(part)}`)
      .sort(),
  ],
  Organization: ({ name }) => [plainText(name)],
  Practitioner: (resource) => [humanName(resource) ?? canonicalJson(resource.name ?? '')],
  Procedure: coded('performedDateTime', 'performedPeriod'),
  RelatedPerson: (resource) => [
    humanName(resource) ?? canonicalJson(resource.name ?? ''),
    meaningsOf(resource.relationship),
  ],
  ServiceRequest: coded('authoredOn', 'occurrenceDateTime', 'occurrencePeriod'),
  Specimen: (resource) => [
    said(resource.type),
    at(resource, 'collection.collectedDateTime', 'collection.collectedPeriod', 'receivedTime'),
  ],
};
