import { type Json, objectsOf, textOf } from '../rules/json.ts';
import {
  amountText,
  conceptText,
  conceptTexts,
  firstDay,
  periodText,
  referenceText,
  statusText,
  unique,
} from '../rules/words.ts';
import { directions, doseText, routeText } from './directions.ts';
import {
  type Denial,
  idOf,
  type Lookup,
  reasonsOf,
  resourceTable,
  type SectionRule,
  type SummaryEntry,
  type TableRule,
} from './section.ts';

const CURRENT = ['active', 'on-hold', 'intended', 'draft', 'unknown'];

export function medicationName(content: Json, { medications }: Lookup): string | undefined {
  const id = idOf(content.medicationReference);
  const name =
    conceptText(content.medicationCodeableConcept) ??
    (id === undefined ? undefined : medications.get(id)) ??
    referenceText(content.medicationReference);
  return content.doNotPerform === true ? `Not to be given: ${name ?? 'unnamed'}` : name;
}

/** The status of a prescription, and whether it is only planned; what a patient reports as taken is not, though it has that intent. */
export const prescriptionStatus = ({ status, intent, reportedBoolean, reportedReference }: Json): string =>
  unique([
    statusText(status),
    ['plan', 'proposal'].includes(String(intent)) &&
    reportedBoolean !== true &&
    reportedReference === undefined
      ? 'planned only'
      : undefined,
  ]).join(', ');

export const isCurrent = ({ content }: Pick<SummaryEntry, 'content'>): boolean =>
  CURRENT.includes(textOf(content.status) ?? 'unknown');

const PRESCRIBED = ['MedicationRequest', 'MedicationStatement'];

const prescriptions = (caption: string, current: boolean): TableRule =>
  resourceTable({
    caption,
    types: PRESCRIBED,
    shows: (content) => isCurrent({ content }) === current,
    cells: {
      Medication: medicationName,
      Directions: ({ dosageInstruction, dosage }) => directions(dosageInstruction ?? dosage),
      Ordered: (content) => firstDay(content, 'authoredOn', 'dateAsserted'),
      Taken: ({ effectivePeriod, effectiveDateTime }) =>
        periodText(effectivePeriod ?? effectiveDateTime, current),
      Status: prescriptionStatus,
      'By; reason': (content, lookup) =>
        unique([
          referenceText(content.requester) ?? referenceText(content.informationSource),
          ...reasonsOf(content, lookup),
        ]).join('; '),
    },
  });

const isTaken: Denial = (entry) =>
  PRESCRIBED.includes(textOf(entry.content.resourceType) ?? '') &&
  isCurrent(entry) &&
  entry.content.doNotPerform !== true;

export const medications: SectionRule = {
  id: 'medications',
  title: 'Medications',
  empty: 'The sources have delivered no medications.',
  statements: { topic: 'medications', denies: isTaken },
  tables: [
    prescriptions('Current medications', true),
    prescriptions('Past medications', false),
    resourceTable({
      caption: 'Dispensed',
      types: ['MedicationDispense'],
      numeric: ['Quantity', 'Supply'],
      cells: {
        Date: (content) => firstDay(content, 'whenHandedOver', 'whenPrepared'),
        Medication: medicationName,
        Quantity: ({ quantity }) => doseText(quantity),
        Supply: ({ daysSupply }) => amountText(daysSupply),
        Directions: ({ dosageInstruction }) => directions(dosageInstruction),
        Status: ({ status }) => statusText(status),
      },
    }),
    resourceTable({
      caption: 'Given',
      types: ['MedicationAdministration'],
      cells: {
        Date: (content) => firstDay(content, 'effectiveDateTime', 'effectivePeriod'),
        Medication: medicationName,
        Dose: ({ dosage }) => directions(dosage),
        Status: ({ status }) => statusText(status),
        Reason: (content, lookup) => reasonsOf(content, lookup).join('; '),
      },
    }),
  ],
};

export const immunizations: SectionRule = {
  id: 'immunizations',
  title: 'Immunizations',
  empty: 'The sources have delivered no immunizations.',
  statements: { topic: 'immunizations', denies: ({ content }) => content.status === 'completed' },
  tables: [
    resourceTable({
      caption: 'Immunizations, newest first',
      types: ['Immunization'],
      cells: {
        Date: (content) =>
          firstDay(content, 'occurrenceDateTime', 'recorded') ?? textOf(content.occurrenceString),
        Vaccine: ({ vaccineCode }) => conceptText(vaccineCode),
        Dose: ({ doseQuantity, route, site }) =>
          unique([doseText(doseQuantity), routeText(route), conceptText(site)]).join(', '),
        Status: ({ status, statusReason, reasonCode }) =>
          unique([statusText(status), conceptText(statusReason), conceptTexts(reasonCode)]).join(': '),
        Lot: ({ lotNumber }) => textOf(lotNumber),
        Where: ({ location, performer }) =>
          referenceText(location) ?? referenceText(objectsOf(performer)[0]?.actor),
      },
    }),
  ],
};
