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
import type { SummaryEntry } from './entry.ts';
import { row } from './parts.ts';
import {
  type Denial,
  idOf,
  type Lookup,
  ORIGIN,
  reasonsOf,
  type SectionRule,
  type TableRule,
} from './section.ts';

const CURRENT = ['active', 'on-hold', 'intended', 'draft', 'unknown'];

export function medicationName({ content }: SummaryEntry, { medications }: Lookup): string | undefined {
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

export const isCurrent = ({ content }: SummaryEntry): boolean =>
  CURRENT.includes(textOf(content.status) ?? 'unknown');
const prescription =
  (current: boolean): TableRule['row'] =>
  (entry, lookup) => {
    if (isCurrent(entry) !== current) return undefined;
    const { content, origin } = entry;
    return row(
      medicationName(entry, lookup),
      directions(content.dosageInstruction ?? content.dosage),
      firstDay(content, 'authoredOn', 'dateAsserted'),
      periodText(content.effectivePeriod ?? content.effectiveDateTime, current),
      prescriptionStatus(content),
      unique([
        referenceText(content.requester) ?? referenceText(content.informationSource),
        ...reasonsOf(content, lookup),
      ]).join('; '),
      origin,
    );
  };

const PRESCRIBED = ['MedicationRequest', 'MedicationStatement'];
const COLUMNS = [
  { title: 'Medication' },
  { title: 'Directions' },
  { title: 'Ordered' },
  { title: 'Taken' },
  { title: 'Status' },
  { title: 'By; reason' },
  ORIGIN,
];

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
    { caption: 'Current medications', types: PRESCRIBED, columns: COLUMNS, row: prescription(true) },
    { caption: 'Past medications', types: PRESCRIBED, columns: COLUMNS, row: prescription(false) },
    {
      caption: 'Dispensed',
      types: ['MedicationDispense'],
      columns: [
        { title: 'Date' },
        { title: 'Medication' },
        { title: 'Quantity', isNumeric: true },
        { title: 'Supply', isNumeric: true },
        { title: 'Directions' },
        { title: 'Status' },
        ORIGIN,
      ],
      row: (entry, lookup) => {
        const { content, origin } = entry;
        return row(
          firstDay(content, 'whenHandedOver', 'whenPrepared'),
          medicationName(entry, lookup),
          doseText(content.quantity),
          amountText(content.daysSupply),
          directions(content.dosageInstruction),
          statusText(content.status),
          origin,
        );
      },
    },
    {
      caption: 'Given',
      types: ['MedicationAdministration'],
      columns: [
        { title: 'Date' },
        { title: 'Medication' },
        { title: 'Dose' },
        { title: 'Status' },
        { title: 'Reason' },
        ORIGIN,
      ],
      row: (entry, lookup) => {
        const { content, origin } = entry;
        return row(
          firstDay(content, 'effectiveDateTime', 'effectivePeriod'),
          medicationName(entry, lookup),
          directions(content.dosage),
          statusText(content.status),
          reasonsOf(content, lookup).join('; '),
          origin,
        );
      },
    },
  ],
};

export const immunizations: SectionRule = {
  id: 'immunizations',
  title: 'Immunizations',
  empty: 'The sources have delivered no immunizations.',
  statements: { topic: 'immunizations', denies: ({ content }) => content.status === 'completed' },
  tables: [
    {
      caption: 'Immunizations, newest first',
      types: ['Immunization'],
      columns: [
        { title: 'Date' },
        { title: 'Vaccine' },
        { title: 'Dose' },
        { title: 'Status' },
        { title: 'Lot' },
        { title: 'Where' },
        ORIGIN,
      ],
      row: ({ content, origin }) =>
        row(
          firstDay(content, 'occurrenceDateTime', 'recorded') ?? textOf(content.occurrenceString),
          conceptText(content.vaccineCode),
          unique([doseText(content.doseQuantity), routeText(content.route), conceptText(content.site)]).join(
            ', ',
          ),
          unique([
            statusText(content.status),
            conceptText(content.statusReason),
            conceptTexts(content.reasonCode),
          ]).join(': '),
          textOf(content.lotNumber),
          referenceText(content.location) ?? referenceText(objectsOf(content.performer)[0]?.actor),
          origin,
        ),
    },
  ],
};
