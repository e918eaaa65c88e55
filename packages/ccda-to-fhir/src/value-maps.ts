import type {
  Address,
  AllergyIntolerance,
  AllergyIntoleranceReaction,
  CareTeam,
  Communication,
  ContactPoint,
  Coverage,
  Device,
  DeviceUseStatement,
  Encounter,
  Goal,
  HumanName,
  Immunization,
  MedicationAdministration,
  MedicationDispense,
  MedicationRequest,
  Observation,
  Patient,
  Procedure,
  ServiceRequest,
  SupplyDelivery,
} from 'fhir/r4.js';
import { cdaTable } from './lookup-table.ts';
import type { SectionKind } from './section-kinds.ts';

/** A table that is looked up by a code or a word of a document. */
const codeMap = <Code>(
  table: Readonly<Record<string, NonNullable<Code>>>,
): Readonly<Record<string, NonNullable<Code>>> => cdaTable(table);

type ConditionStatus =
  | 'active'
  | 'inactive'
  | 'recurrence'
  | 'relapse'
  | 'remission'
  | 'resolved';

/** Names of the codes that the conversion itself writes. */
const DISPLAYS = {
  '160245001': 'No current problems or disability',
  '409137002': 'No known drug allergy',
  '428607008': 'No known environmental allergy',
  '429625007': 'No known food allergy',
  '716186003': 'No known allergy',
  '787481004': 'No known medications',
  '82810-3': 'Pregnancy status',
  '72166-2': 'Tobacco smoking status',
  '42348-3': 'Advance healthcare directives',
  '787480003': 'No known procedures',
  '787482006': 'No known immunizations',
  laboratory: 'Laboratory',
  exam: 'Exam',
  'functional-status': 'Functional Status',
  'cognitive-status': 'Cognitive Status',
  'social-history': 'Social History',
  'vital-signs': 'Vital Signs',
  'problem-list-item': 'Problem List Item',
  'encounter-diagnosis': 'Encounter Diagnosis',
  'health-concern': 'Health Concern',
  ECON: 'Emergency contact',
  NOK: 'Next of kin',
  AMB: 'ambulatory',
  IMP: 'inpatient encounter',
  EMER: 'emergency',
  normal: 'Normal Range',
  LAB: 'Laboratory',
  '85353-1':
    'Vital signs, weight, height, head circumference, oxygen saturation and BMI panel',
  '85354-9': 'Blood pressure panel with all children optional',
  en: 'English',
} satisfies Readonly<Record<string, string>>;
type NamedCode = keyof typeof DISPLAYS;

/** What the kind of the section says of what is in it. */
const bySection = (
  table: Partial<Readonly<Record<SectionKind, NamedCode>>>,
): Partial<Readonly<Record<SectionKind, NamedCode>>> => table;

/**
 * The ConceptMaps of C-CDA on FHIR, and those that it lacks. Codes that FHIR
 * prescribes are of its types, so that another one does not compile.
 */
export const MAPS = {
  // What an allergy or a problem is, by SNOMED CT or in words.
  AllergyStatus: codeMap<'active' | 'inactive' | 'resolved'>({
    '55561003': 'active',
    '73425007': 'inactive',
    '413322009': 'resolved',
    '723506003': 'resolved',
    active: 'active',
    inactive: 'inactive',
    resolved: 'resolved',
  }),

  ProblemStatus: codeMap<ConditionStatus>({
    '55561003': 'active',
    '73425007': 'inactive',
    '246455001': 'recurrence',
    '263855007': 'relapse',
    '277022003': 'remission',
    '413322009': 'resolved',
    '723506003': 'resolved',
    active: 'active',
    inactive: 'inactive',
    recurrence: 'recurrence',
    relapse: 'relapse',
    remission: 'remission',
    resolved: 'resolved',
  }),

  AllergyIntoleranceCategory: codeMap<
    NonNullable<AllergyIntolerance['category']>[number]
  >({
    '59037007': 'medication',
    '235719002': 'food',
    '414285001': 'food',
    '416098002': 'medication',
    '418471000': 'food',
    '419511003': 'medication',
  }),

  AllergyIntoleranceType: codeMap<AllergyIntolerance['type']>({
    '59037007': 'intolerance',
    '235719002': 'intolerance',
    '414285001': 'allergy',
    '416098002': 'allergy',
    '419199007': 'allergy',
  }),

  Criticality: codeMap<AllergyIntolerance['criticality']>({
    CRITH: 'high',
    CRITL: 'low',
    CRITU: 'unable-to-assess',
  }),

  Severity: codeMap<AllergyIntoleranceReaction['severity']>({
    '6736007': 'moderate',
    '24484000': 'severe',
    '255604002': 'mild',
    '371923003': 'moderate',
    '371924009': 'severe',
    '399166001': 'severe',
    '442452003': 'severe',
  }),

  NoneAtAll: codeMap<NamedCode>({
    '55607006': '160245001',
    '64572001': '160245001',
    '106190000': '716186003',
    '414285001': '429625007',
    '416098002': '409137002',
    '418038007': '716186003',
    '418471000': '429625007',
    '419199007': '716186003',
    '419511003': '409137002',
    '420134006': '716186003',
    '426232007': '428607008',
  }),

  ConditionCategory: bySection({
    encounters: 'encounter-diagnosis',
    'health concerns': 'health-concern',
    problems: 'problem-list-item',
  }),

  // Statuses by `statusCode`, intents by mood.
  MedicationStatus: codeMap<MedicationRequest['status']>({
    active: 'active',
    aborted: 'stopped',
    cancelled: 'cancelled',
    completed: 'completed',
    held: 'on-hold',
    new: 'draft',
    obsolete: 'cancelled',
    ordered: 'active',
    suspended: 'on-hold',
  }),

  DispenseStatus: codeMap<MedicationDispense['status']>({
    aborted: 'stopped',
    active: 'in-progress',
    cancelled: 'cancelled',
    completed: 'completed',
    held: 'on-hold',
  }),

  AdministrationStatus: codeMap<MedicationAdministration['status']>({
    aborted: 'stopped',
    active: 'in-progress',
    cancelled: 'not-done',
    completed: 'completed',
    held: 'on-hold',
    suspended: 'on-hold',
  }),

  ImmunizationStatus: codeMap<Immunization['status']>({
    active: 'completed',
    completed: 'completed',
    aborted: 'not-done',
    cancelled: 'not-done',
    held: 'not-done',
    new: 'not-done',
    obsolete: 'not-done',
    suspended: 'not-done',
  }),

  ProcedureStatus: codeMap<Procedure['status']>({
    active: 'in-progress',
    aborted: 'stopped',
    cancelled: 'not-done',
    completed: 'completed',
    held: 'on-hold',
    new: 'preparation',
    suspended: 'on-hold',
  }),

  // R4 has no `unknown` there; it is written where nothing else is stated.
  DeviceUseStatus: codeMap<DeviceUseStatement['status'] | 'unknown'>({
    active: 'active',
    completed: 'completed',
    aborted: 'stopped',
  }),

  SupplyStatus: codeMap<SupplyDelivery['status']>({
    completed: 'completed',
    active: 'in-progress',
  }),

  RequestStatus: codeMap<ServiceRequest['status']>({
    active: 'active',
    aborted: 'revoked',
    cancelled: 'revoked',
    completed: 'completed',
    held: 'on-hold',
    new: 'active',
    suspended: 'on-hold',
  }),

  Priority: codeMap<ServiceRequest['priority']>({
    A: 'asap',
    EM: 'stat',
    R: 'routine',
    S: 'stat',
    UR: 'urgent',
  }),

  RequestIntent: codeMap<ServiceRequest['intent']>({
    ARQ: 'order',
    PRP: 'proposal',
    RQO: 'order',
  }),

  ResultStatus: codeMap<Observation['status']>({
    aborted: 'cancelled',
    active: 'registered',
    cancelled: 'cancelled',
    held: 'registered',
    new: 'registered',
    suspended: 'registered',
  }),

  EncounterStatus: codeMap<Encounter['status']>({
    aborted: 'unknown',
    active: 'in-progress',
    cancelled: 'cancelled',
    completed: 'finished',
    held: 'planned',
    new: 'unknown',
    suspended: 'onleave',
  }),

  GoalStatus: codeMap<Goal['lifecycleStatus']>({
    active: 'active',
    aborted: 'cancelled',
    cancelled: 'cancelled',
    completed: 'completed',
    held: 'on-hold',
    suspended: 'on-hold',
  }),

  CareTeamStatus: codeMap<CareTeam['status']>({
    active: 'active',
    completed: 'inactive',
    suspended: 'suspended',
  }),

  CommunicationStatus: codeMap<Communication['status']>({
    aborted: 'stopped',
    cancelled: 'not-done',
    held: 'on-hold',
  }),

  CoverageStatus: codeMap<Coverage['status']>({
    cancelled: 'cancelled',
    aborted: 'cancelled',
  }),

  // Observations and their values.
  Asserted: codeMap<NamedCode>({
    '2.16.840.1.113883.10.20.15.3.8': '82810-3',
    '4.78': '72166-2',
  }),

  ObservationCategory: bySection({
    'advance directives': '42348-3',
    'functional status': 'functional-status',
    'mental status': 'cognitive-status',
    'physical findings': 'exam',
    results: 'laboratory',
    'social history': 'social-history',
    'vital signs': 'vital-signs',
  }),

  /** The code systems of categories; FHIR's own for the others. */
  CategorySystem: codeMap<string>({
    '42348-3': 'http://loinc.org',
    'functional-status':
      'http://hl7.org/fhir/us/core/CodeSystem/us-core-category',
    'cognitive-status':
      'http://hl7.org/fhir/us/core/CodeSystem/us-core-category',
  }),

  /** What HL7's table 0123 says of a result, by its code or in words. */
  StatedResultStatus: codeMap<Observation['status']>({
    a: 'preliminary',
    c: 'corrected',
    f: 'final',
    i: 'registered',
    o: 'registered',
    p: 'preliminary',
    r: 'preliminary',
    s: 'registered',
    u: 'final',
    x: 'cancelled',
    cancelled: 'cancelled',
    corrected: 'corrected',
    final: 'final',
    'final results': 'final',
    preliminary: 'preliminary',
    'preliminary results': 'preliminary',
  }),

  DeviceStatus: codeMap<Device['status']>({
    C45329: 'active',
    active: 'active',
    inactive: 'inactive',
    'entered in error': 'entered-in-error',
  }),

  NullFlavorDataAbsentReason: codeMap<string>({
    NI: 'unknown',
    OTH: 'unsupported',
    NINF: 'negative-infinity',
    PINF: 'positive-infinity',
    MSK: 'masked',
    NA: 'not-applicable',
    UNK: 'unknown',
    ASKU: 'asked-unknown',
    NAV: 'temp-unknown',
    NASK: 'not-asked',
    TRC: 'unsupported',
    NP: 'unknown',
  }),

  RangeMeaning: codeMap<string>({
    A: 'Abnormal',
    AA: 'Critically abnormal',
    H: 'High',
    HH: 'Critically high',
    L: 'Low',
    LL: 'Critically low',
  }),

  // Persons, addresses and telecoms.
  /** HL7's table 0131, by the class of a participant's role. */
  ContactKind: codeMap<string>({ ECON: 'C', NOK: 'N' }),

  AdministrativeGender: codeMap<Patient['gender']>({
    M: 'male',
    F: 'female',
    UN: 'other',
    UNK: 'unknown',
  }),

  NameUse: codeMap<HumanName['use']>({
    A: 'nickname',
    C: 'official',
    L: 'usual',
    P: 'nickname',
  }),

  AddressUse: codeMap<Address['use']>({
    BAD: 'old',
    H: 'home',
    HP: 'home',
    HV: 'home',
    TMP: 'temp',
    WP: 'work',
    DIR: 'work',
    PUB: 'work',
  }),

  TelecomUse: codeMap<ContactPoint['use']>({
    BAD: 'old',
    H: 'home',
    HP: 'home',
    HV: 'home',
    TMP: 'temp',
    WP: 'work',
    DIR: 'work',
    PUB: 'work',
    AS: 'work',
    MC: 'mobile',
    PG: 'mobile',
  }),

  TelecomType: codeMap<ContactPoint['system']>({
    fax: 'fax',
    http: 'url',
    https: 'url',
    mailto: 'email',
    sms: 'sms',
    tel: 'phone',
    'x-text-fax': 'fax',
  }),

  Display: codeMap<string>(DISPLAYS),
};
