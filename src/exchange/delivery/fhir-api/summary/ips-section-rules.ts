import {
  activeProblems,
  allergyTable,
  carePlanTable,
  currentMedications,
  deviceTable,
  encounterDiagnoses,
  immunizationTable,
  type Lookup,
  observationTable,
  pastProblems,
  procedureTable,
  productKey,
  RETRACTED,
  reportTable,
  resultTable,
  SECTION,
  type SectionRule,
  type SummaryEntry,
  type TableRule,
  vitalSignTable,
} from '#record-summary';
import {
  codesOf,
  isEnteredInError,
  type Json,
  objectsOf,
} from '#record-summary/fhir';

/** Resources of one table of the summary that a section is made of. */
export interface IpsSource {
  section: SectionRule;
  table: TableRule;
  /** Whether a resource of the table belongs in a patient summary. */
  keeps: (entry: SummaryEntry, section: SectionRule) => boolean;
  /** Only the latest value of each thing that was measured. */
  isLatest?: true;
  /** Only the first of those with one key. */
  once?: (content: Json, lookup: Lookup) => string | undefined;
  max: number;
}

/** A section of the patient summary. */
export interface IpsSectionRule {
  /** LOINC */
  code: string;
  title: string;
  /** The section of the summary whose statements of absence are of it. */
  section: SectionRule;
  /** Shown when it has no entries, if the section's sentence does not fit. */
  empty?: string;
  /** It is left out when it has no entries. */
  isOptional?: true;
  from: readonly IpsSource[];
}

type Keeps = IpsSource['keeps'];

/** What would contradict a source that says there is none. */
const isPresent: Keeps = (entry, { statements }) =>
  statements?.denies(entry, {
    topic: statements.topic,
    text: '',
    isUnknown: false,
  }) === true;

const isValid: Keeps = ({ content }) =>
  !isEnteredInError(content) &&
  !codesOf(content.verificationStatus).includes('refuted') &&
  !RETRACTED.includes(String(content.status));

const isActivePlan: Keeps = ({ content }) => content.status === 'active';

const isUsable: Keeps = ({ content }) =>
  !['inactive', 'entered-in-error'].includes(String(content.status));

const isSocialHistory: Keeps = ({ content }) =>
  objectsOf(content.category).flatMap(codesOf).includes('social-history') &&
  !RETRACTED.includes(String(content.status));

/** The sections of the International Patient Summary, in their order. */
export const IPS_SECTIONS: readonly IpsSectionRule[] = [
  {
    code: '11450-4',
    title: 'Active problems',
    section: SECTION.problems,
    empty: 'The sources have delivered no current problems.',
    from: [
      {
        section: SECTION.problems,
        table: activeProblems,
        keeps: isPresent,
        max: 200,
      },
    ],
  },
  {
    code: '10160-0',
    title: 'Current medications',
    section: SECTION.medications,
    empty: 'The sources have delivered no current medications.',
    from: [
      {
        section: SECTION.medications,
        table: currentMedications,
        keeps: isPresent,
        once: productKey,
        max: 200,
      },
    ],
  },
  {
    code: '48765-2',
    title: 'Allergies and intolerances',
    section: SECTION.allergies,
    empty:
      'The sources have delivered no current allergies; that does not mean that there are none.',
    from: [
      {
        section: SECTION.allergies,
        table: allergyTable,
        keeps: isPresent,
        max: 200,
      },
    ],
  },
  {
    code: '11369-6',
    title: 'Immunizations',
    section: SECTION.immunizations,
    empty: 'The sources have delivered no immunizations that were given.',
    from: [
      {
        section: SECTION.immunizations,
        table: immunizationTable,
        keeps: isPresent,
        max: 200,
      },
    ],
  },
  {
    code: '30954-2',
    title: 'Results: the latest of each test',
    section: SECTION.results,
    from: [
      {
        section: SECTION.results,
        table: resultTable,
        keeps: isValid,
        isLatest: true,
        max: 150,
      },
      {
        section: SECTION.reports,
        table: reportTable,
        keeps: isValid,
        max: 20,
      },
    ],
  },
  {
    code: '47519-4',
    title: 'Procedures',
    section: SECTION.procedures,
    empty: 'The sources have delivered no procedures that were done.',
    from: [
      {
        section: SECTION.procedures,
        table: procedureTable,
        keeps: isPresent,
        max: 100,
      },
    ],
  },
  {
    code: '46264-8',
    title: 'Medical devices',
    section: SECTION.background,
    empty: 'The sources have delivered no devices.',
    from: [
      {
        section: SECTION.background,
        table: deviceTable,
        keeps: isUsable,
        max: 50,
      },
    ],
  },
  {
    code: '11348-0',
    title: 'Past problems, and diagnoses at encounters',
    section: SECTION.problems,
    isOptional: true,
    from: [
      {
        section: SECTION.problems,
        table: pastProblems,
        keeps: isValid,
        max: 100,
      },
      {
        section: SECTION.problems,
        table: encounterDiagnoses,
        keeps: isValid,
        max: 50,
      },
    ],
  },
  {
    code: '8716-3',
    title: 'Vital signs: the latest of each kind',
    section: SECTION.vitalSigns,
    isOptional: true,
    from: [
      {
        section: SECTION.vitalSigns,
        table: vitalSignTable,
        keeps: isValid,
        isLatest: true,
        max: 30,
      },
    ],
  },
  {
    code: '29762-2',
    title: 'Social history',
    section: SECTION.observations,
    isOptional: true,
    from: [
      {
        section: SECTION.observations,
        table: observationTable,
        keeps: isSocialHistory,
        isLatest: true,
        max: 30,
      },
    ],
  },
  {
    code: '18776-5',
    title: 'Plan of care',
    section: SECTION.carePlans,
    isOptional: true,
    from: [
      {
        section: SECTION.carePlans,
        table: carePlanTable,
        keeps: isActivePlan,
        max: 20,
      },
    ],
  },
];
