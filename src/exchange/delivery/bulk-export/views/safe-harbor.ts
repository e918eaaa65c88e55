import type {
  AllergyIntolerance,
  CodeableConcept,
  Condition,
  DiagnosticReport,
  Encounter,
  Immunization,
  Medication,
  MedicationAdministration,
  MedicationDispense,
  MedicationRequest,
  MedicationStatement,
  Observation,
  Patient,
  Period,
  Procedure,
  Range,
  Ratio,
  Reference,
} from 'fhir/r4.js';
import type {
  CompletenessContent,
  QueryOutcomeContent,
} from './own-resources.ts';

/** What may be kept of a primitive value: a text is a code or a time. */
type KeptPrimitive<T> = T extends boolean
  ? 'boolean'
  : T extends number
    ? 'number'
    : 'code' | 'year';

/** What may be kept of a value with elements. */
type KeptComplex = 'coding' | 'reference' | 'quantity' | 'place';

/** The ways in which a value is kept; `deidentify.ts` has a function for each. */
export type KeptAs = KeptPrimitive<boolean | number | string> | KeptComplex;

type ShapeName = keyof Shapes;

/** What is kept of a value of the type T; the items of a list are alike. */
type Kept<T> = T extends readonly (infer Item)[]
  ? Kept<Item>
  : T extends Date
    ? 'year'
    : T extends object
      ? KeptComplex | ShapeName | KeptElements<T>
      : KeptPrimitive<T>;

/** What is kept of each element; an element without a row goes. */
type KeptElements<T> = { readonly [E in keyof T]?: Kept<NonNullable<T[E]>> };

interface Shapes {
  concept: KeptElements<CodeableConcept>;
  period: KeptElements<Period>;
  range: KeptElements<Range>;
  ratio: KeptElements<Ratio>;
}

interface KeptResources {
  Patient: KeptElements<Patient>;
  Condition: KeptElements<Condition>;
  Observation: KeptElements<Observation>;
  DiagnosticReport: KeptElements<DiagnosticReport>;
  Encounter: KeptElements<Encounter>;
  Procedure: KeptElements<Procedure>;
  AllergyIntolerance: KeptElements<AllergyIntolerance>;
  Immunization: KeptElements<Immunization>;
  Medication: KeptElements<Medication>;
  MedicationRequest: KeptElements<MedicationRequest>;
  MedicationStatement: KeptElements<MedicationStatement>;
  MedicationDispense: KeptElements<MedicationDispense>;
  MedicationAdministration: KeptElements<MedicationAdministration>;
  RecordCompleteness: KeptElements<
    CompletenessContent & { subject: Reference }
  >;
  QueryOutcome: KeptElements<QueryOutcomeContent & { subject: Reference }>;
}

/** As any of the tables below has it. */
export type KeptShape =
  | KeptAs
  | ShapeName
  | { readonly [element: string]: KeptShape };

/** Data types of which more than one element is kept. */
export const KEPT_SHAPES = {
  concept: { coding: 'coding' },
  period: { start: 'year', end: 'year' },
  range: { low: 'quantity', high: 'quantity' },
  ratio: { numerator: 'quantity', denominator: 'quantity' },
} satisfies Shapes;

/**
 * What is kept of each type of resource by the Safe Harbor method, 45 CFR
 * 164.514(b)(2)(i). A type without a row has no de-identified form.
 */
export const KEPT_ELEMENTS = {
  Patient: {
    active: 'boolean',
    gender: 'code',
    birthDate: 'year',
    deceasedBoolean: 'boolean',
    deceasedDateTime: 'year',
    address: 'place',
    maritalStatus: 'concept',
  },
  Condition: {
    clinicalStatus: 'concept',
    verificationStatus: 'concept',
    category: 'concept',
    severity: 'concept',
    code: 'concept',
    bodySite: 'concept',
    subject: 'reference',
    encounter: 'reference',
    onsetDateTime: 'year',
    onsetAge: 'quantity',
    onsetPeriod: 'period',
    abatementDateTime: 'year',
    abatementPeriod: 'period',
    recordedDate: 'year',
  },
  Observation: {
    status: 'code',
    category: 'concept',
    code: 'concept',
    subject: 'reference',
    encounter: 'reference',
    effectiveDateTime: 'year',
    effectiveInstant: 'year',
    effectivePeriod: 'period',
    issued: 'year',
    valueQuantity: 'quantity',
    valueCodeableConcept: 'concept',
    valueBoolean: 'boolean',
    valueInteger: 'number',
    valueRange: 'range',
    valueRatio: 'ratio',
    valueDateTime: 'year',
    dataAbsentReason: 'concept',
    interpretation: 'concept',
    bodySite: 'concept',
    method: 'concept',
    referenceRange: { low: 'quantity', high: 'quantity', type: 'concept' },
    component: {
      code: 'concept',
      valueQuantity: 'quantity',
      valueCodeableConcept: 'concept',
      valueBoolean: 'boolean',
      valueInteger: 'number',
      dataAbsentReason: 'concept',
      interpretation: 'concept',
      referenceRange: { low: 'quantity', high: 'quantity', type: 'concept' },
    },
    hasMember: 'reference',
  },
  DiagnosticReport: {
    status: 'code',
    category: 'concept',
    code: 'concept',
    subject: 'reference',
    encounter: 'reference',
    effectiveDateTime: 'year',
    effectivePeriod: 'period',
    issued: 'year',
    result: 'reference',
    conclusionCode: 'concept',
  },
  Encounter: {
    status: 'code',
    class: 'coding',
    type: 'concept',
    serviceType: 'concept',
    priority: 'concept',
    subject: 'reference',
    period: 'period',
    length: 'quantity',
    reasonCode: 'concept',
    reasonReference: 'reference',
    diagnosis: { condition: 'reference', use: 'concept', rank: 'number' },
    hospitalization: {
      admitSource: 'concept',
      dischargeDisposition: 'concept',
      reAdmission: 'concept',
    },
  },
  Procedure: {
    status: 'code',
    category: 'concept',
    code: 'concept',
    subject: 'reference',
    encounter: 'reference',
    performedDateTime: 'year',
    performedPeriod: 'period',
    performedAge: 'quantity',
    reasonCode: 'concept',
    bodySite: 'concept',
    outcome: 'concept',
  },
  AllergyIntolerance: {
    clinicalStatus: 'concept',
    verificationStatus: 'concept',
    type: 'code',
    category: 'code',
    criticality: 'code',
    code: 'concept',
    patient: 'reference',
    encounter: 'reference',
    onsetDateTime: 'year',
    onsetAge: 'quantity',
    recordedDate: 'year',
    lastOccurrence: 'year',
    reaction: {
      substance: 'concept',
      manifestation: 'concept',
      onset: 'year',
      severity: 'code',
    },
  },
  Immunization: {
    status: 'code',
    statusReason: 'concept',
    vaccineCode: 'concept',
    patient: 'reference',
    encounter: 'reference',
    occurrenceDateTime: 'year',
    recorded: 'year',
    primarySource: 'boolean',
    site: 'concept',
    route: 'concept',
    doseQuantity: 'quantity',
  },
  Medication: { code: 'concept', status: 'code', form: 'concept' },
  MedicationRequest: {
    status: 'code',
    statusReason: 'concept',
    intent: 'code',
    category: 'concept',
    priority: 'code',
    doNotPerform: 'boolean',
    medicationCodeableConcept: 'concept',
    medicationReference: 'reference',
    subject: 'reference',
    encounter: 'reference',
    authoredOn: 'year',
    reasonCode: 'concept',
    reasonReference: 'reference',
    dosageInstruction: {
      route: 'concept',
      method: 'concept',
      doseAndRate: { doseQuantity: 'quantity', doseRange: 'range' },
    },
    dispenseRequest: {
      numberOfRepeatsAllowed: 'number',
      quantity: 'quantity',
      expectedSupplyDuration: 'quantity',
      validityPeriod: 'period',
    },
  },
  MedicationStatement: {
    status: 'code',
    category: 'concept',
    medicationCodeableConcept: 'concept',
    medicationReference: 'reference',
    subject: 'reference',
    effectiveDateTime: 'year',
    effectivePeriod: 'period',
    dateAsserted: 'year',
    reasonCode: 'concept',
    dosage: {
      route: 'concept',
      doseAndRate: { doseQuantity: 'quantity' },
    },
  },
  MedicationDispense: {
    status: 'code',
    category: 'concept',
    medicationCodeableConcept: 'concept',
    medicationReference: 'reference',
    subject: 'reference',
    context: 'reference',
    authorizingPrescription: 'reference',
    type: 'concept',
    quantity: 'quantity',
    daysSupply: 'quantity',
    whenPrepared: 'year',
    whenHandedOver: 'year',
  },
  MedicationAdministration: {
    status: 'code',
    medicationCodeableConcept: 'concept',
    medicationReference: 'reference',
    subject: 'reference',
    context: 'reference',
    effectiveDateTime: 'year',
    effectivePeriod: 'period',
    reasonCode: 'concept',
    dosage: { route: 'concept', dose: 'quantity' },
  },
  RecordCompleteness: {
    subject: 'reference',
    isComplete: 'boolean',
    withheld: 'number',
    source: {
      source: 'code',
      state: 'code',
      lastAttempted: 'year',
      lastCompleted: 'year',
      resources: 'number',
      fromDocuments: 'number',
      documents: 'number',
    },
  },
  QueryOutcome: {
    subject: 'reference',
    status: 'code',
    startedAt: 'year',
    source: {
      type: 'code',
      status: 'code',
      startedAt: 'year',
      completedAt: 'year',
    },
  },
} satisfies KeptResources;

/** A code system, and what its codes look like. */
interface CodeSystem {
  system: RegExp;
  code: RegExp;
}

/** A coding of another system, or with another code, goes. */
export const KEPT_CODINGS: readonly CodeSystem[] = [
  {
    system: /^http:\/\/loinc\.org$/,
    code: /^(?:LA|LP)?\d{1,7}-\d$/,
  },
  {
    system: /^http:\/\/snomed\.info\/sct$/,
    code: /^\d{6,18}$/,
  },
  {
    system: /^http:\/\/www\.nlm\.nih\.gov\/research\/umls\/rxnorm$/,
    code: /^\d{1,8}$/,
  },
  {
    system: /^http:\/\/hl7\.org\/fhir\/sid\/icd-(?:9|10)-(?:cm|pcs)$/,
    code: /^(?:[A-Z0-9]{2,7}|[A-Z]?\d{1,3}[A-Z]?(?:\.[A-Z0-9]{1,4})?)$/,
  },
  {
    system: /^http:\/\/hl7\.org\/fhir\/sid\/cvx$/,
    code: /^\d{1,3}$/,
  },
  {
    system: /^http:\/\/hl7\.org\/fhir\/sid\/ndc$/,
    code: /^(?:\d{4,5}-\d{3,4}-\d{1,2}|\d{11})$/,
  },
  {
    system: /^http:\/\/www\.ama-assn\.org\/go\/cpt$/,
    code: /^\d{4}[0-9A-Z]$/,
  },
  {
    system: /^http:\/\/(?:terminology\.)?hl7\.org\//,
    code: /^(?:[A-Za-z][A-Za-z0-9_-]{0,39}|<{1,2}|>{1,2})$/,
  },
];

/**
 * Three-digit areas with 20,000 people or fewer (Census 2000), from the Guidance
 * Regarding Methods for De-identification of Protected Health Information, U.S.
 * Department of Health and Human Services, 26 November 2012.
 */
export const RESTRICTED_ZIP3: readonly string[] = [
  '036',
  '059',
  '063',
  '102',
  '203',
  '556',
  '692',
  '790',
  '821',
  '823',
  '830',
  '831',
  '878',
  '879',
  '884',
  '890',
  '893',
];
