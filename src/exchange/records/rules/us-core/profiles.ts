import {
  type ElementOf,
  type Json,
  type MemberOf,
  objectsOf,
  type ResourceType,
} from '#record-summary/fhir';
import type { RequiredElement } from './defect-words.ts';
import {
  anyElementOf,
  has,
  hasCode,
  inEach,
  isInUnits,
  isOf,
  LOINC,
  orUnknown,
  type Profile,
  type Requirement,
  RULES,
  requiredElements,
  UCUM,
  unknownConcept,
  unknownElement,
  whenStatus,
} from './named-rules.ts';

interface ProfileOf<T extends ResourceType> {
  /** The last part of its address: `us-core-patient`. */
  name: string;
  type: T;
  /** Whether the profile is meant for the resource; always if absent. */
  isFor?: (resource: Json) => boolean;
  /** LOINC codes that the resource has, all of them. */
  codes?: readonly string[];
  requires: readonly (Requirement<T> | readonly Requirement<T>[])[];
  /** How often elements may be there; what both versions of US Core say. */
  bounds?: readonly Requirement<T>[];
}

const profileOf = <T extends ResourceType>({
  name,
  type,
  isFor = () => true,
  codes = [],
  requires,
  bounds = [],
}: ProfileOf<T>): Profile => ({
  name,
  type,
  isFor: (resource) =>
    isFor(resource) &&
    codes.every((code) => hasCode(resource.code, LOINC, [code])),
  requires: requires.flat() as Requirement[],
  bounds: bounds as readonly Requirement[],
});

/** At most one item in a list. */
const once = <T extends ResourceType>(
  list: ElementOf<T> & RequiredElement,
): Requirement<T> => ({
  element: list,
  holds: (resource) => objectsOf(resource[list]).length <= 1,
});

/** At most one value of a member in each item of a list. */
const onceInEach = <T extends ResourceType, E extends ElementOf<T>>(
  list: E,
  member: MemberOf<T, E>,
): Requirement<T> => ({
  element: `${list}.${member}` as RequiredElement,
  holds: (resource) =>
    objectsOf(resource[list]).every((item) => {
      const values = item[member];
      return !Array.isArray(values) || values.length <= 1;
    }),
});

/** At most one category with the code. */
const oneCategory = <T extends ResourceType>(
  system: string,
  code: string,
): Requirement<T> => ({
  element: 'category',
  holds: (resource) => {
    const { category }: Json = resource;
    const items = objectsOf(category);
    return items.filter((item) => hasCode(item, system, [code])).length <= 1;
  },
});

/** A value, if there is one, in one of these units of UCUM. */
const inUnits = (...units: string[]): Requirement<'Observation'> => ({
  element: 'valueQuantity',
  holds: ({ valueQuantity }) => isInUnits(valueQuantity, units),
});

const CONDITION_CATEGORIES =
  'http://terminology.hl7.org/CodeSystem/condition-category';
const US_CONDITION_CATEGORIES =
  'http://hl7.org/fhir/us/core/CodeSystem/condition-category';
const REPORT_CATEGORIES = 'http://terminology.hl7.org/CodeSystem/v2-0074';
const OBSERVATION_CATEGORIES =
  'http://terminology.hl7.org/CodeSystem/observation-category';
const IDENTIFIER_TYPES = 'http://terminology.hl7.org/CodeSystem/v2-0203';

/** Statuses of a report that is more than registered. */
const REPORTED = [
  'partial',
  'preliminary',
  'final',
  'amended',
  'corrected',
  'appended',
];

const CLINICAL_RESULTS = [
  'exam',
  'therapy',
  'imaging',
  'procedure',
  'activity',
];
const OTHER_RESULTS = ['laboratory', 'vital-signs', 'survey'];

/** Observations that a profile knows by one code, whatever their category. */
const SOCIAL = {
  smoking: '72166-2',
  occupation: '11341-5',
  pregnancyIntent: '86645-9',
  pregnancy: '82810-3',
  sexualOrientation: '76690-7',
};

const isProblem = ({ category }: Json): boolean =>
  hasCode(category, CONDITION_CATEGORIES, ['problem-list-item']) ||
  hasCode(category, US_CONDITION_CATEGORIES, ['health-concern']);

const isEncounterDiagnosis = ({ category }: Json): boolean =>
  hasCode(category, CONDITION_CATEGORIES, ['encounter-diagnosis']);

const isLaboratoryReport = ({ category }: Json): boolean =>
  hasCode(category, REPORT_CATEGORIES, ['LAB']);

const isClinicalResult = ({ category }: Json): boolean =>
  isOf(category, ...CLINICAL_RESULTS) && !isOf(category, ...OTHER_RESULTS);

const isSimpleObservation = (resource: Json): boolean =>
  has(resource, 'category') &&
  !isOf(resource.category, ...CLINICAL_RESULTS, ...OTHER_RESULTS) &&
  !hasCode(resource.code, LOINC, Object.values(SOCIAL));

/** A vital sign that is known by its codes. */
const vitalSign = (
  name: string,
  codes: readonly string[],
  ...more: readonly Requirement<'Observation'>[]
): Profile =>
  profileOf<'Observation'>({
    name,
    type: 'Observation',
    isFor: ({ category }) => isOf(category, 'vital-signs'),
    codes,
    requires: [RULES.vitalSign, ...more],
  });

const CLINICAL_PROFILES = [
  profileOf<'AllergyIntolerance'>({
    name: 'us-core-allergyintolerance',
    type: 'AllergyIntolerance',
    requires: [requiredElements('code', 'patient')],
  }),
  profileOf<'CarePlan'>({
    name: 'us-core-careplan',
    type: 'CarePlan',
    requires: [
      requiredElements('status', 'intent', 'subject', 'category'),
      RULES.narrative,
      RULES.assessPlan,
    ],
    bounds: [
      oneCategory(
        'http://hl7.org/fhir/us/core/CodeSystem/careplan-category',
        'assess-plan',
      ),
    ],
  }),
  profileOf<'CareTeam'>({
    name: 'us-core-careteam',
    type: 'CareTeam',
    requires: [requiredElements('subject', 'participant'), RULES.members],
    bounds: [onceInEach('participant', 'role')],
  }),
  profileOf<'Condition'>({
    name: 'us-core-condition-problems-health-concerns',
    type: 'Condition',
    isFor: isProblem,
    requires: [requiredElements('code', 'subject')],
  }),
  profileOf<'Condition'>({
    name: 'us-core-condition-encounter-diagnosis',
    type: 'Condition',
    isFor: isEncounterDiagnosis,
    requires: [requiredElements('code', 'subject')],
    bounds: [oneCategory(CONDITION_CATEGORIES, 'encounter-diagnosis')],
  }),
  profileOf<'Coverage'>({
    name: 'us-core-coverage',
    type: 'Coverage',
    requires: [
      requiredElements('status', 'beneficiary', 'payor'),
      orUnknown(anyElementOf('relationship'), () => ({
        relationship: unknownConcept(),
      })),
      RULES.memberNumber,
    ],
    bounds: [
      once('payor'),
      {
        element: 'identifier.type',
        holds: ({ identifier }) =>
          objectsOf(identifier).filter(({ type }) =>
            hasCode(type, IDENTIFIER_TYPES, ['MB']),
          ).length <= 1,
      },
    ],
  }),
  profileOf<'DiagnosticReport'>({
    name: 'us-core-diagnosticreport-lab',
    type: 'DiagnosticReport',
    isFor: isLaboratoryReport,
    requires: [
      requiredElements('status', 'category', 'code', 'subject'),
      whenStatus(
        REPORTED,
        orUnknown(anyElementOf('effective[x]'), () => ({
          _effectiveDateTime: unknownElement(),
        })),
      ),
      whenStatus(
        REPORTED,
        orUnknown(anyElementOf('issued'), () => ({
          _issued: unknownElement(),
        })),
      ),
    ],
    bounds: [oneCategory(REPORT_CATEGORIES, 'LAB')],
  }),
  profileOf<'DiagnosticReport'>({
    name: 'us-core-diagnosticreport-note',
    type: 'DiagnosticReport',
    isFor: (resource) => !isLaboratoryReport(resource),
    requires: [
      requiredElements('status', 'category', 'code', 'subject'),
      whenStatus(
        REPORTED,
        orUnknown(anyElementOf('effective[x]'), () => ({
          _effectiveDateTime: unknownElement(),
        })),
      ),
    ],
  }),
  profileOf<'DocumentReference'>({
    name: 'us-core-documentreference',
    type: 'DocumentReference',
    requires: [
      requiredElements('status', 'subject', 'content'),
      RULES.documentType,
      RULES.loincType,
      orUnknown(anyElementOf('category'), () => ({
        category: [unknownConcept()],
      })),
      RULES.contentAddress,
    ],
    bounds: [onceInEach('context', 'encounter')],
  }),
  profileOf<'Encounter'>({
    name: 'us-core-encounter',
    type: 'Encounter',
    requires: [
      requiredElements('status', 'class', 'subject'),
      orUnknown(anyElementOf('type'), () => ({ type: [unknownConcept()] })),
      inEach<'Encounter', 'identifier'>('identifier', {
        _system: unknownElement,
        _value: unknownElement,
      }),
    ],
  }),
  profileOf<'Goal'>({
    name: 'us-core-goal',
    type: 'Goal',
    requires: [requiredElements('lifecycleStatus', 'description', 'subject')],
  }),
  profileOf<'Immunization'>({
    name: 'us-core-immunization',
    type: 'Immunization',
    requires: [
      requiredElements('status', 'vaccineCode', 'patient'),
      orUnknown(anyElementOf('occurrence[x]'), () => ({
        _occurrenceDateTime: unknownElement(),
      })),
    ],
  }),
  profileOf<'Device'>({
    name: 'us-core-implantable-device',
    type: 'Device',
    isFor: (resource) => has(resource, 'udiCarrier'),
    requires: [
      requiredElements('patient'),
      orUnknown(anyElementOf('type'), () => ({ type: unknownConcept() })),
    ],
    bounds: [
      once('udiCarrier'),
      {
        element: 'udiCarrier.deviceIdentifier',
        holds: ({ udiCarrier }) =>
          objectsOf(udiCarrier).every((each) => has(each, 'deviceIdentifier')),
      },
    ],
  }),
  profileOf<'MedicationDispense'>({
    name: 'us-core-medicationdispense',
    type: 'MedicationDispense',
    requires: [
      requiredElements('status', 'medication[x]', 'subject'),
      whenStatus(
        ['completed'],
        orUnknown(anyElementOf('whenHandedOver'), () => ({
          _whenHandedOver: unknownElement(),
        })),
      ),
    ],
  }),
  profileOf<'MedicationRequest'>({
    name: 'us-core-medicationrequest',
    type: 'MedicationRequest',
    requires: [
      requiredElements('status', 'intent', 'medication[x]', 'subject'),
      RULES.requester,
    ],
  }),
  profileOf<'Procedure'>({
    name: 'us-core-procedure',
    type: 'Procedure',
    requires: [
      requiredElements('status', 'subject'),
      orUnknown(anyElementOf('code'), () => ({ code: unknownConcept() })),
      whenStatus(
        ['completed', 'in-progress'],
        orUnknown(anyElementOf('performed[x]'), () => ({
          _performedDateTime: unknownElement(),
        })),
      ),
    ],
  }),
  profileOf<'ServiceRequest'>({
    name: 'us-core-servicerequest',
    type: 'ServiceRequest',
    requires: [
      requiredElements('status', 'intent', 'subject'),
      orUnknown(anyElementOf('code'), () => ({ code: unknownConcept() })),
    ],
  }),
];

const OBSERVATION_PROFILES = [
  profileOf<'Observation'>({
    name: 'us-core-observation-lab',
    type: 'Observation',
    isFor: ({ category }) => isOf(category, 'laboratory'),
    requires: [RULES.clinical],
    bounds: [
      oneCategory(OBSERVATION_CATEGORIES, 'laboratory'),
      {
        // us-core-22
        element: 'referenceRange.system',
        version: '8.0.0',
        isOfVersion: true,
        holds: ({ referenceRange }) =>
          objectsOf(referenceRange).every((range) =>
            [range.low, range.high].every((end) =>
              objectsOf(end).every(
                ({ system }) => system === undefined || system === UCUM,
              ),
            ),
          ),
      },
    ],
  }),
  profileOf<'Observation'>({
    name: 'us-core-observation-clinical-result',
    type: 'Observation',
    isFor: isClinicalResult,
    requires: [RULES.clinical],
  }),
  profileOf<'Observation'>({
    name: 'us-core-observation-screening-assessment',
    type: 'Observation',
    isFor: ({ category }) => isOf(category, 'survey'),
    requires: [RULES.clinical],
    bounds: [oneCategory(OBSERVATION_CATEGORIES, 'survey')],
  }),
  profileOf<'Observation'>({
    name: 'us-core-vital-signs',
    type: 'Observation',
    isFor: ({ category }) => isOf(category, 'vital-signs'),
    requires: [RULES.vitalSign],
    bounds: [oneCategory(OBSERVATION_CATEGORIES, 'vital-signs')],
  }),
  vitalSign('us-core-blood-pressure', ['85354-9'], RULES.bloodPressure),
  vitalSign(
    'us-core-pulse-oximetry',
    ['59408-5', '2708-6'],
    inUnits('%'),
    RULES.oxygen,
  ),
  vitalSign('us-core-bmi', ['39156-5'], inUnits('kg/m2')),
  vitalSign('us-core-body-height', ['8302-2'], inUnits('cm', '[in_i]')),
  vitalSign('us-core-body-weight', ['29463-7'], inUnits('g', 'kg', '[lb_av]')),
  vitalSign('us-core-body-temperature', ['8310-5'], inUnits('Cel', '[degF]')),
  vitalSign('us-core-heart-rate', ['8867-4'], inUnits('/min')),
  vitalSign('us-core-respiratory-rate', ['9279-1'], inUnits('/min')),
  vitalSign('us-core-head-circumference', ['9843-4'], inUnits('cm', '[in_i]')),
  vitalSign(
    'head-occipital-frontal-circumference-percentile',
    ['8289-1'],
    inUnits('%'),
  ),
  vitalSign('pediatric-bmi-for-age', ['59576-9'], inUnits('%')),
  vitalSign('pediatric-weight-for-height', ['77606-2'], inUnits('%')),
  profileOf<'Observation'>({
    name: 'us-core-smokingstatus',
    type: 'Observation',
    codes: [SOCIAL.smoking],
    requires: [
      requiredElements(
        'status',
        'code',
        'subject',
        'category',
        'effectiveDateTime',
        'valueCodeableConcept',
      ),
      RULES.socialHistory,
      RULES.final,
    ],
    bounds: [oneCategory(OBSERVATION_CATEGORIES, 'social-history')],
  }),
  profileOf<'Observation'>({
    name: 'us-core-observation-occupation',
    type: 'Observation',
    codes: [SOCIAL.occupation],
    requires: [
      requiredElements('status', 'code', 'subject', 'valueCodeableConcept'),
    ],
  }),
  profileOf<'Observation'>({
    name: 'us-core-observation-pregnancyintent',
    type: 'Observation',
    codes: [SOCIAL.pregnancyIntent],
    requires: [
      requiredElements(
        'status',
        'code',
        'subject',
        'effectiveDateTime',
        'valueCodeableConcept',
      ),
    ],
  }),
  profileOf<'Observation'>({
    name: 'us-core-observation-pregnancystatus',
    type: 'Observation',
    codes: [SOCIAL.pregnancy],
    requires: [
      requiredElements(
        'status',
        'code',
        'subject',
        'effectiveDateTime',
        'valueCodeableConcept',
      ),
    ],
  }),
  profileOf<'Observation'>({
    name: 'us-core-observation-sexual-orientation',
    type: 'Observation',
    codes: [SOCIAL.sexualOrientation],
    requires: [requiredElements('status', 'code', 'subject')],
  }),
  profileOf<'Observation'>({
    name: 'us-core-simple-observation',
    type: 'Observation',
    isFor: isSimpleObservation,
    requires: [requiredElements('status', 'code', 'subject', 'category')],
  }),
];

const OTHER_PROFILES = [
  profileOf<'Patient'>({
    name: 'us-core-patient',
    type: 'Patient',
    requires: [
      requiredElements('name', 'gender'),
      RULES.ourNumber,
      inEach<'Patient', 'identifier'>('identifier', {
        _system: unknownElement,
        _value: unknownElement,
      }),
      inEach<'Patient', 'telecom'>('telecom', {
        _system: unknownElement,
        _value: unknownElement,
      }),
      RULES.named,
      RULES.raceInWords,
      RULES.sexCoding,
      RULES.sexCode,
    ],
  }),
  profileOf<'Location'>({
    name: 'us-core-location',
    type: 'Location',
    requires: [
      orUnknown(anyElementOf('name'), () => ({ _name: unknownElement() })),
      RULES.completeType,
    ],
  }),
  profileOf<'Medication'>({
    name: 'us-core-medication',
    type: 'Medication',
    requires: [
      orUnknown(anyElementOf('code'), () => ({ code: unknownConcept() })),
    ],
  }),
  profileOf<'Organization'>({
    name: 'us-core-organization',
    type: 'Organization',
    requires: [
      orUnknown(anyElementOf('active'), () => ({ _active: unknownElement() })),
      orUnknown(anyElementOf('name'), () => ({ _name: unknownElement() })),
      RULES.nameOrNumber,
      RULES.wellFormedNumbers,
    ],
  }),
  profileOf<'Practitioner'>({
    name: 'us-core-practitioner',
    type: 'Practitioner',
    requires: [
      RULES.familyName,
      RULES.number,
      inEach<'Practitioner', 'identifier'>('identifier', {
        _system: unknownElement,
        _value: unknownElement,
      }),
      inEach<'Practitioner', 'name'>('name', { _family: unknownElement }),
      RULES.wellFormedNumbers,
    ],
  }),
  profileOf<'PractitionerRole'>({
    name: 'us-core-practitionerrole',
    type: 'PractitionerRole',
    requires: [
      inEach<'PractitionerRole', 'telecom'>('telecom', {
        _system: unknownElement,
        _value: unknownElement,
      }),
      anyElementOf('telecom', 'endpoint'),
      orUnknown(
        anyElementOf(
          'practitioner',
          'organization',
          'healthcareService',
          'location',
        ),
        () => ({ practitioner: unknownElement() }),
      ),
    ],
  }),
  profileOf<'Provenance'>({
    name: 'us-core-provenance',
    type: 'Provenance',
    requires: [
      requiredElements('target', 'agent', 'recorded'),
      RULES.agentsFound,
    ],
  }),
  profileOf<'RelatedPerson'>({
    name: 'us-core-relatedperson',
    type: 'RelatedPerson',
    requires: [
      requiredElements('patient'),
      orUnknown(anyElementOf('active'), () => ({ _active: unknownElement() })),
      orUnknown(anyElementOf('relationship', 'name'), () => ({
        relationship: [unknownConcept()],
      })),
    ],
  }),
  profileOf<'Specimen'>({
    name: 'us-core-specimen',
    type: 'Specimen',
    requires: [
      orUnknown(anyElementOf('type'), () => ({ type: unknownConcept() })),
    ],
  }),
];

/** The profiles of US Core that a resource may claim. */
export const ALL_PROFILES: readonly Profile[] = [
  ...CLINICAL_PROFILES,
  ...OBSERVATION_PROFILES,
  ...OTHER_PROFILES,
];
