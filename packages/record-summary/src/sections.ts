import { type Cell, either, joinedCells, say, sayEach } from './cells.ts';
import type { ColumnTitle } from './column-titles.ts';
import type { ResourceType } from './fhir/elements.ts';
import type { Json } from './fhir/json.ts';
import { resultTable, vitalSignTable } from './measurements.ts';
import {
  isCurrent,
  isOrdered,
  isTaken,
  medicationName,
  prescriptionStatus,
} from './medications.ts';
import {
  categoryOf,
  isAdvanceDirective,
  isEmpty,
  observationName,
} from './observation.ts';
import { row } from './parts.ts';
import {
  allergyName,
  allergyReactions,
  hasAllergy,
  hasProblem,
  isActive,
  isOfEncounter,
  isSocial,
  problemState,
} from './problems.ts';
import { procedureCell, procedureName } from './procedures.ts';
import {
  activities,
  attachmentFormats,
  attachmentTitles,
  careTeamMembers,
  categoryNames,
  conclusion,
  course,
  criticality,
  diagnoses,
  documentStatus,
  encounterKind,
  familyConditions,
  goalCell,
  modality,
  observedValueCell,
  problemCell,
  reactionNotes,
  reportName,
  unusualStatus,
  vaccineDose,
  vaccineReactions,
  vaccineStatus,
} from './resource-cells.ts';
import {
  ORIGIN,
  reasonsOf,
  type SectionRule,
  type TableRule,
} from './section.ts';

/** A table with a row for each resource of its types. */
interface ResourceTable<T extends ResourceType> {
  caption: string;
  types: readonly T[];
  /** Which of these resources belong in the table; all, if it is missing. */
  shows?: (content: Json) => boolean;
  isPart?: true;
  /** The columns with numbers. */
  numeric?: readonly ColumnTitle[];
  /** In the order of the columns, before the one with the origin. */
  cells: Readonly<Partial<Record<ColumnTitle, Cell<T>>>>;
}

function tableOf<T extends ResourceType>({
  caption,
  types,
  isPart,
  shows = () => true,
  numeric = [],
  cells,
}: ResourceTable<T>): TableRule {
  const titles = Object.keys(cells) as ColumnTitle[];
  const says = Object.values<Cell<T>>(cells).map((cell) => joinedCells(cell));
  return {
    caption,
    types,
    ...(isPart && { isPart }),
    shows,
    columns: [
      ...titles.map((title) => ({ title, isNumeric: numeric.includes(title) })),
      ORIGIN,
    ],
    row: ({ content, origin }, lookup) =>
      shows(content)
        ? row(...says.map((say) => say(content, lookup)), origin)
        : undefined,
  };
}

export const activeProblems = tableOf<'Condition'>({
  caption: 'Active problems',
  types: ['Condition'],
  shows: (content) => isActive({ content }) && !isSocial(content),
  cells: {
    Problem: problemCell,
    Since: say.day('onsetDateTime', 'onsetPeriod', 'recordedDate'),
    Status: (content) => problemState({ content }),
    Notes: sayEach.text('note.text'),
  },
});

export const pastProblems = tableOf<'Condition'>({
  caption: 'Past problems',
  types: ['Condition'],
  shows: (content) =>
    !isActive({ content }) && !isOfEncounter({ content }) && !isSocial(content),
  cells: {
    Problem: problemCell,
    From: say.day('onsetDateTime', 'onsetPeriod', 'recordedDate'),
    Until: say.day('abatementDateTime', 'abatementPeriod'),
    Status: (content) => problemState({ content }),
    Notes: sayEach.text('note.text'),
  },
});

export const encounterDiagnoses = tableOf<'Condition'>({
  caption:
    'Diagnoses at encounters, of which the sources do not say whether they are active',
  types: ['Condition'],
  shows: (content) => isOfEncounter({ content }) && !isSocial(content),
  cells: {
    Diagnosis: problemCell,
    Date: say.day('onsetDateTime', 'onsetPeriod', 'recordedDate'),
    Notes: sayEach.text('note.text'),
  },
});

export const currentMedications = tableOf<
  'MedicationRequest' | 'MedicationStatement'
>({
  caption: 'Current medications',
  types: ['MedicationRequest', 'MedicationStatement'],
  shows: (content) => isCurrent({ content }),
  cells: {
    Medication: medicationName,
    Directions: say.directions('dosageInstruction', 'dosage'),
    Ordered: say.day('authoredOn', 'dateAsserted'),
    Taken: say.since('effectivePeriod', 'effectiveDateTime'),
    Status: prescriptionStatus,
    'By; reason': joinedCells(
      say.reference('requester', 'informationSource'),
      reasonsOf,
    ),
    Notes: sayEach.text('note.text'),
  },
});

const pastMedications = tableOf<'MedicationRequest' | 'MedicationStatement'>({
  caption: 'Past medications',
  types: ['MedicationRequest', 'MedicationStatement'],
  shows: (content) => !isCurrent({ content }) && isOrdered(content),
  cells: {
    Medication: medicationName,
    Directions: say.directions('dosageInstruction', 'dosage'),
    Ordered: say.day('authoredOn', 'dateAsserted'),
    Taken: say.day('effectivePeriod', 'effectiveDateTime'),
    Status: prescriptionStatus,
    'By; reason': joinedCells(
      say.reference('requester', 'informationSource'),
      reasonsOf,
    ),
    Notes: sayEach.text('note.text'),
  },
});

const notOrderedMedications = tableOf<'MedicationRequest'>({
  caption: 'Proposed or optional, not ordered',
  types: ['MedicationRequest'],
  shows: (content) => !isOrdered(content),
  cells: {
    Medication: medicationName,
    Directions: say.directions('dosageInstruction'),
    Ordered: say.day('authoredOn'),
    Status: prescriptionStatus,
    'By; reason': joinedCells(say.reference('requester'), reasonsOf),
  },
});

const dispensedMedications = tableOf<'MedicationDispense'>({
  caption: 'Dispensed',
  types: ['MedicationDispense'],
  numeric: ['Quantity', 'Supply'],
  cells: {
    Date: say.day('whenHandedOver', 'whenPrepared'),
    Medication: medicationName,
    Quantity: say.dose('quantity'),
    Supply: say.amount('daysSupply'),
    Directions: say.directions('dosageInstruction'),
    Status: say.status('status'),
    Notes: sayEach.text('note.text'),
  },
});

const givenMedications = tableOf<'MedicationAdministration'>({
  caption: 'Given',
  types: ['MedicationAdministration'],
  cells: {
    Date: either(say.moment('effectiveDateTime'), say.day('effectivePeriod')),
    Medication: medicationName,
    Dose: say.directions('dosage'),
    Status: say.status('status'),
    Reason: reasonsOf,
    Notes: sayEach.text('note.text'),
  },
});

export const allergyTable = tableOf<'AllergyIntolerance'>({
  caption: 'Allergies and intolerances, newest first',
  types: ['AllergyIntolerance'],
  cells: {
    Substance: allergyName,
    Reactions: allergyReactions,
    Criticality: criticality,
    Status: (content) => problemState({ content }),
    Noted: say.day('onsetDateTime', 'onsetPeriod', 'recordedDate'),
    Notes: joinedCells(sayEach.text('note.text'), reactionNotes),
  },
});

export const immunizationTable = tableOf<'Immunization'>({
  caption: 'Immunizations, newest first',
  types: ['Immunization'],
  cells: {
    Date: either(
      say.day('occurrenceDateTime', 'recorded'),
      say.text('occurrenceString'),
    ),
    Vaccine: say.concept('vaccineCode'),
    Dose: vaccineDose,
    Status: vaccineStatus,
    Lot: say.text('lotNumber'),
    Where: say.reference('location', 'performer.actor'),
    Notes: joinedCells(vaccineReactions, sayEach.text('note.text')),
  },
});

export const reportTable = tableOf<'DiagnosticReport'>({
  caption: 'Reports, newest first',
  types: ['DiagnosticReport'],
  shows: (content) => !isEmpty(content),
  cells: {
    Date: either(
      say.moment('effectiveDateTime'),
      say.day('effectivePeriod', 'issued'),
    ),
    Report: reportName,
    Conclusion: conclusion,
    By: sayEach.reference('performer'),
  },
});

const imagingTable = tableOf<'ImagingStudy'>({
  caption: 'Imaging studies, newest first',
  types: ['ImagingStudy'],
  cells: {
    Date: say.moment('started'),
    Study: either(sayEach.concept('procedureCode'), say.text('description')),
    Modality: modality,
    Status: unusualStatus,
    Where: say.reference('location'),
  },
});

export const procedureTable = tableOf<'Procedure'>({
  caption: 'Procedures, newest first',
  types: ['Procedure'],
  cells: {
    Date: either(
      say.day('performedDateTime', 'performedPeriod'),
      say.text('performedString'),
    ),
    Procedure: procedureCell,
    Status: say.status('status'),
    Reason: joinedCells(reasonsOf, say.concept('outcome')),
    Where: say.reference('location', 'performer.actor'),
    Notes: sayEach.text('note.text'),
  },
});

/** Statuses of orders that are neither carried out nor given up. */
const OPEN = ['active', 'draft', 'on-hold', 'unknown', 'undefined'];
const isOpen = ({ status }: Json): boolean => OPEN.includes(String(status));

const ordersOf = (
  caption: string,
  shows: (content: Json) => boolean,
): TableRule =>
  tableOf<'ServiceRequest'>({
    caption,
    types: ['ServiceRequest'],
    shows,
    cells: {
      Date: say.day('occurrenceDateTime', 'occurrencePeriod', 'authoredOn'),
      Procedure: procedureName,
      Status: say.status('status'),
      Reason: reasonsOf,
      By: say.reference('requester'),
      Notes: sayEach.text('note.text'),
    },
  });

const openOrders = ordersOf('Ordered or planned, newest first', isOpen);
const endedOrders = ordersOf(
  'Orders that are completed or given up, newest first',
  (content) => !isOpen(content),
);

const encounterTable = tableOf<'Encounter'>({
  caption: 'Encounters, newest first',
  types: ['Encounter'],
  cells: {
    Date: course,
    Encounter: encounterKind,
    Class: say.class('class'),
    Reason: joinedCells(reasonsOf, diagnoses),
    'Where and with whom': joinedCells(
      sayEach.reference('location.location'),
      say.reference('serviceProvider'),
      sayEach.reference('participant.individual'),
    ),
  },
});

const documentTable = tableOf<'DocumentReference'>({
  caption: 'Documents, newest first',
  types: ['DocumentReference'],
  cells: {
    Date: either(say.moment('date'), say.day('context.period')),
    Document: joinedCells(
      either(say.concept('type'), say.text('description')),
      attachmentTitles,
    ),
    Status: documentStatus,
    By: joinedCells(sayEach.reference('author'), say.reference('custodian')),
    Format: attachmentFormats,
  },
});

export const carePlanTable = tableOf<'CarePlan'>({
  caption: 'Care plans',
  types: ['CarePlan'],
  cells: {
    Period: course,
    Plan: joinedCells(say.text('title'), sayEach.text('category.text')),
    Status: say.status('status'),
    Activities: activities,
  },
});

const goalTable = tableOf<'Goal'>({
  caption: 'Goals',
  types: ['Goal'],
  cells: {
    Since: say.day('startDate'),
    Goal: goalCell,
    Status: say.status('lifecycleStatus'),
    Notes: sayEach.text('note.text'),
  },
});

const careTeamTable = tableOf<'CareTeam'>({
  caption: 'Care teams',
  types: ['CareTeam'],
  cells: {
    Period: course,
    For: either(say.text('name'), sayEach.concept('reasonCode')),
    Status: say.status('status'),
    Members: careTeamMembers,
    Notes: sayEach.text('note.text'),
  },
});

const presentFindings = tableOf<'Condition'>({
  caption: 'Present findings',
  types: ['Condition'],
  shows: (content) => isSocial(content) && isActive({ content }),
  cells: {
    Finding: say.concept('code'),
    Since: say.day('onsetDateTime', 'onsetPeriod', 'recordedDate'),
    Until: say.day('abatementDateTime', 'abatementPeriod'),
    Status: (content) => problemState({ content }),
  },
});

const pastFindings = tableOf<'Condition'>({
  caption: 'Past findings',
  types: ['Condition'],
  shows: (content) => isSocial(content) && !isActive({ content }),
  cells: {
    Finding: say.concept('code'),
    Since: say.day('onsetDateTime', 'onsetPeriod', 'recordedDate'),
    Until: say.day('abatementDateTime', 'abatementPeriod'),
    Status: (content) => problemState({ content }),
  },
});

export const observationTable = tableOf<'Observation'>({
  caption: 'Other observations, newest first',
  types: ['Observation'],
  shows: (content) =>
    categoryOf(content) === 'other' &&
    !isAdvanceDirective(content) &&
    !isEmpty(content),
  cells: {
    Date: say.day('effectiveDateTime', 'effectivePeriod', 'issued'),
    Observation: (content, { linked }) => observationName(content, linked),
    Value: observedValueCell,
    Kind: categoryNames,
    Notes: sayEach.text('note.text'),
  },
});

const advanceDirectiveTable = tableOf<'Observation'>({
  caption: 'Advance directives, newest first',
  types: ['Observation'],
  shows: (content) => isAdvanceDirective(content) && !isEmpty(content),
  cells: {
    Date: say.since('effectivePeriod', 'effectiveDateTime'),
    Directive: (content, { linked }) => observationName(content, linked),
    Value: observedValueCell,
    Notes: sayEach.text('note.text'),
  },
});

const familyHistoryTable = tableOf<'FamilyMemberHistory'>({
  caption: 'Family history',
  types: ['FamilyMemberHistory'],
  cells: {
    Relative: either(say.concept('relationship'), say.text('name')),
    Conditions: familyConditions,
    Status: unusualStatus,
    Notes: sayEach.text('note.text'),
  },
});

export const deviceTable = tableOf<'Device'>({
  caption: 'Devices',
  types: ['Device'],
  cells: {
    Device: either(say.concept('type'), say.text('deviceName.name')),
    Manufactured: say.day('manufactureDate'),
    Status: say.status('status'),
    'Serial number': say.text('serialNumber'),
  },
});

const coverageTable = tableOf<'Coverage'>({
  caption: 'Coverage',
  types: ['Coverage'],
  cells: {
    Payer: sayEach.reference('payor'),
    Kind: say.concept('type'),
    Period: say.day('period'),
    Status: unusualStatus,
  },
});

const flagTable = tableOf<'Flag'>({
  caption: 'Alerts, newest first',
  types: ['Flag'],
  cells: {
    Period: say.day('period'),
    Kind: sayEach.concept('category'),
    Alert: say.concept('code'),
    Status: say.status('status'),
    By: say.reference('author'),
  },
});

const directiveConsentTable = tableOf<'Consent'>({
  caption: 'Consents about treatment, newest first',
  types: ['Consent'],
  isPart: true,
  shows: (content) => isAdvanceDirective(content),
  cells: {
    Date: say.day('dateTime'),
    Directive: either(sayEach.concept('category'), say.concept('scope')),
    Status: say.status('status'),
    By: sayEach.reference('performer'),
  },
});

/** The sections of a summary by name. */
export const SECTION = {
  alerts: {
    id: 'alerts',
    title: 'Alerts',
    empty: 'The sources have delivered no alerts.',
    isOptional: true,
    tables: [flagTable],
  },
  problems: {
    id: 'problems',
    title: 'Problems',
    empty: 'The sources have delivered no problems.',
    statements: { topic: 'problems', denies: hasProblem },
    tables: [activeProblems, pastProblems, encounterDiagnoses],
  },
  medications: {
    id: 'medications',
    title: 'Medications',
    empty: 'The sources have delivered no medications.',
    statements: { topic: 'medications', denies: isTaken },
    tables: [
      currentMedications,
      pastMedications,
      notOrderedMedications,
      dispensedMedications,
      givenMedications,
    ],
  },
  allergies: {
    id: 'allergies',
    title: 'Allergies and intolerances',
    empty:
      'The sources have delivered no allergies; that does not mean that there are none.',
    statements: { topic: 'allergies', denies: hasAllergy },
    tables: [allergyTable],
  },
  immunizations: {
    id: 'immunizations',
    title: 'Immunizations',
    empty: 'The sources have delivered no immunizations.',
    statements: {
      topic: 'immunizations',
      denies: ({ content }) => content.status === 'completed',
    },
    tables: [immunizationTable],
  },
  results: {
    id: 'results',
    title: 'Laboratory results',
    empty: 'The sources have delivered no laboratory results.',
    tables: [resultTable],
  },
  vitalSigns: {
    id: 'vital-signs',
    title: 'Vital signs',
    empty: 'The sources have delivered no vital signs.',
    tables: [vitalSignTable],
  },
  reports: {
    id: 'reports',
    title: 'Reports and imaging',
    empty: 'The sources have delivered no reports.',
    tables: [reportTable, imagingTable],
  },
  procedures: {
    id: 'procedures',
    title: 'Procedures',
    empty: 'The sources have delivered no procedures.',
    statements: {
      topic: 'procedures',
      denies: ({ content }) =>
        content.status !== 'not-done' && content.status !== 'entered-in-error',
    },
    tables: [procedureTable, openOrders, endedOrders],
  },
  encounters: {
    id: 'encounters',
    title: 'Encounters',
    empty: 'The sources have delivered no encounters.',
    tables: [encounterTable],
  },
  documents: {
    id: 'documents',
    title: 'Documents',
    empty: 'The sources have delivered no documents.',
    tables: [documentTable],
  },
  carePlans: {
    id: 'care-plans',
    title: 'Care plans, goals and care teams',
    empty: 'The sources have delivered no care plans.',
    tables: [
      advanceDirectiveTable,
      directiveConsentTable,
      carePlanTable,
      goalTable,
      careTeamTable,
    ],
  },
  socialFindings: {
    id: 'social-findings',
    title: 'Social findings',
    empty: 'The sources have delivered no social findings.',
    tables: [presentFindings, pastFindings],
  },
  observations: {
    id: 'observations',
    title: 'Assessments and other observations',
    empty: 'The sources have delivered no other observations.',
    tables: [observationTable],
  },
  background: {
    id: 'background',
    title: 'Family history, devices and coverage',
    empty: 'The sources have delivered no family history, devices or coverage.',
    statements: {
      topic: 'devices',
      denies: ({ content }) => content.resourceType === 'Device',
    },
    tables: [familyHistoryTable, deviceTable, coverageTable],
  },
} satisfies Readonly<Record<string, SectionRule>>;

/** The sections of a summary, in their order. */
export const SECTIONS: readonly SectionRule[] = Object.values(SECTION);
