import { isJson, type Json, objectsOf, textOf } from '../json.ts';
import {
  codingsOf,
  has,
  hasCode,
  inEach,
  LOINC,
  orUnknown,
  type Profile,
  type Requirement,
  requiredAll,
  unknown,
  unknownConcept,
} from './profile.ts';

const CONDITION_CATEGORIES = 'http://terminology.hl7.org/CodeSystem/condition-category';
const US_CONDITION_CATEGORIES = 'http://hl7.org/fhir/us/core/CodeSystem/condition-category';
const NULL_FLAVOR = 'http://terminology.hl7.org/CodeSystem/v3-NullFlavor';

/** An element that is required in some states only. */
const whenStatus = (statuses: readonly string[], requirement: Requirement): Requirement => ({
  ...requirement,
  holds: (resource) => !statuses.includes(textOf(resource.status) ?? '') || requirement.holds(resource),
});

/** A report that is more than registered. */
const REPORTED = ['partial', 'preliminary', 'final', 'amended', 'corrected', 'appended'];
const effectiveReport = whenStatus(
  REPORTED,
  orUnknown('effective[x]', () => ({ _effectiveDateTime: unknown() })),
);
const REPORT = requiredAll('status', 'category', 'code', 'subject');
const isLaboratory = ({ category }: Json): boolean =>
  hasCode(category, 'http://terminology.hl7.org/CodeSystem/v2-0074', ['LAB']);

const isProblem = ({ category }: Json): boolean =>
  hasCode(category, CONDITION_CATEGORIES, ['problem-list-item']) ||
  hasCode(category, US_CONDITION_CATEGORIES, ['health-concern']);

/** Intents of a prescription that has somebody who ordered it (us-core-21). */
const ORDERED = ['order', 'original-order', 'reflex-order', 'filler-order', 'instance-order'];

export const CLINICAL_PROFILES: readonly Profile[] = [
  {
    name: 'us-core-allergyintolerance',
    type: 'AllergyIntolerance',
    requires: requiredAll('code', 'patient'),
  },
  {
    name: 'us-core-careplan',
    type: 'CarePlan',
    requires: [
      ...requiredAll('status', 'intent', 'subject', 'category'),
      {
        element: 'text',
        holds: ({ text }) =>
          isJson(text) && has(text, 'div') && ['generated', 'additional'].includes(textOf(text.status) ?? ''),
      },
      {
        element: 'category',
        version: '6.1.0',
        holds: ({ category }) =>
          hasCode(category, 'http://hl7.org/fhir/us/core/CodeSystem/careplan-category', ['assess-plan']),
      },
    ],
  },
  {
    name: 'us-core-careteam',
    type: 'CareTeam',
    requires: [
      ...requiredAll('subject', 'participant'),
      inEach('participant', { role: () => [unknownConcept()], member: unknown }),
    ],
  },
  {
    name: 'us-core-condition-problems-health-concerns',
    type: 'Condition',
    isFor: isProblem,
    requires: requiredAll('code', 'subject'),
  },
  {
    name: 'us-core-condition-encounter-diagnosis',
    type: 'Condition',
    isFor: ({ category }) => hasCode(category, CONDITION_CATEGORIES, ['encounter-diagnosis']),
    requires: requiredAll('code', 'subject'),
  },
  {
    name: 'us-core-coverage',
    type: 'Coverage',
    requires: [
      ...requiredAll('status', 'beneficiary', 'payor'),
      orUnknown('relationship', () => ({ relationship: unknownConcept() })),
      {
        element: 'subscriberId',
        holds: (resource) =>
          has(resource, 'subscriberId') ||
          objectsOf(resource.identifier).some(({ type }) =>
            hasCode(type, 'http://terminology.hl7.org/CodeSystem/v2-0203', ['MB']),
          ),
        fill: () => ({ _subscriberId: unknown() }),
      },
    ],
  },
  {
    name: 'us-core-diagnosticreport-lab',
    type: 'DiagnosticReport',
    isFor: isLaboratory,
    requires: [
      ...REPORT,
      effectiveReport,
      whenStatus(
        REPORTED,
        orUnknown('issued', () => ({ _issued: unknown() })),
      ),
    ],
  },
  {
    name: 'us-core-diagnosticreport-note',
    type: 'DiagnosticReport',
    isFor: (resource) => !isLaboratory(resource),
    requires: [...REPORT, effectiveReport],
  },
  {
    name: 'us-core-documentreference',
    type: 'DocumentReference',
    requires: [
      ...requiredAll('status', 'subject', 'content'),
      orUnknown('type', () => ({
        type: { coding: [{ system: NULL_FLAVOR, code: 'UNK', display: 'unknown' }] },
      })),
      {
        element: 'type',
        holds: ({ type }) =>
          hasCode(type, NULL_FLAVOR, ['UNK']) || codingsOf(type).some(({ system }) => system === LOINC),
      },
      orUnknown('category', () => ({ category: [unknownConcept()] })),
      {
        element: 'content.attachment.url, data',
        holds: ({ content }) =>
          objectsOf(content).every(
            ({ attachment }) => isJson(attachment) && (has(attachment, 'url') || has(attachment, 'data')),
          ),
        fill: ({ content }) => ({
          content: objectsOf(content).map((each) => ({
            ...each,
            attachment: {
              ...(isJson(each.attachment) ? each.attachment : {}),
              ...missingContent(each.attachment),
            },
          })),
        }),
      },
    ],
  },
  {
    name: 'us-core-encounter',
    type: 'Encounter',
    requires: [
      ...requiredAll('status', 'class', 'subject'),
      orUnknown('type', () => ({ type: [unknownConcept()] })),
      inEach('identifier', { _system: unknown, _value: unknown }),
    ],
  },
  { name: 'us-core-goal', type: 'Goal', requires: requiredAll('lifecycleStatus', 'description', 'subject') },
  {
    name: 'us-core-immunization',
    type: 'Immunization',
    requires: [
      ...requiredAll('status', 'vaccineCode', 'patient'),
      orUnknown('occurrence[x]', () => ({ _occurrenceDateTime: unknown() })),
    ],
  },
  {
    name: 'us-core-implantable-device',
    type: 'Device',
    isFor: (resource) => has(resource, 'udiCarrier'),
    requires: [...requiredAll('patient'), orUnknown('type', () => ({ type: unknownConcept() }))],
  },
  {
    name: 'us-core-medicationdispense',
    type: 'MedicationDispense',
    requires: [
      ...requiredAll('status', 'medication[x]', 'subject'),
      whenStatus(
        ['completed'],
        orUnknown('whenHandedOver', () => ({ _whenHandedOver: unknown() })),
      ),
    ],
  },
  {
    name: 'us-core-medicationrequest',
    type: 'MedicationRequest',
    requires: [
      ...requiredAll('status', 'intent', 'medication[x]', 'subject'),
      {
        element: 'requester',
        holds: (resource) => !ORDERED.includes(textOf(resource.intent) ?? '') || has(resource, 'requester'),
        fill: () => ({ requester: unknown() }),
      },
    ],
  },
  {
    name: 'us-core-procedure',
    type: 'Procedure',
    requires: [
      ...requiredAll('status', 'subject'),
      orUnknown('code', () => ({ code: unknownConcept() })),
      whenStatus(
        ['completed', 'in-progress'],
        orUnknown('performed[x]', () => ({ _performedDateTime: unknown() })),
      ),
    ],
  },
  {
    name: 'us-core-servicerequest',
    type: 'ServiceRequest',
    requires: [
      ...requiredAll('status', 'intent', 'subject'),
      orUnknown('code', () => ({ code: unknownConcept() })),
    ],
  },
];

const missingContent = (attachment: unknown): Json =>
  isJson(attachment) && (has(attachment, 'url') || has(attachment, 'data')) ? {} : { _url: unknown() };
