import { isJson, type Json, objectsOf, textOf } from '../rules/json.ts';
import type { SummaryEntry } from './entry.ts';
import { row } from './parts.ts';
import { type Denial, idOf, type Lookup, ORIGIN, type SectionRule, type TableRule } from './section.ts';
import {
  amountText,
  conceptText,
  conceptTexts,
  firstDay,
  plainName,
  referenceText,
  statusText,
  unique,
} from './words.ts';

const CURRENT = ['active', 'on-hold', 'intended', 'draft', 'unknown'];

export function medicationName({ content }: SummaryEntry, { medications }: Lookup): string | undefined {
  const id = idOf(content.medicationReference);
  const name =
    conceptText(content.medicationCodeableConcept) ??
    (id === undefined ? undefined : medications.get(id)) ??
    referenceText(content.medicationReference);
  return content.doNotPerform === true ? `Not to be given: ${name ?? 'unnamed'}` : name;
}

/** The directions as the source wrote them, otherwise composed of dose, route and timing. */
export function directions(dosages: unknown): string {
  return unique(
    objectsOf(dosages).map((dosage) => plainName(textOf(dosage.text)) ?? structuredDirections(dosage)),
  ).join('; ');
}

function structuredDirections(dosage: Json): string {
  const dose = objectsOf(dosage.doseAndRate).map((rate) => amountText(rate.doseQuantity));
  const timing = isJson(dosage.timing) ? dosage.timing : {};
  return unique([
    ...dose,
    conceptText(dosage.route),
    conceptText(timing.code) ?? timesText(timing.repeat),
    dosage.asNeededBoolean === true ? 'as needed' : undefined,
  ]).join(', ');
}

const PERIOD_UNITS: Readonly<Record<string, string>> = {
  s: 'seconds',
  min: 'minutes',
  h: 'hours',
  d: 'days',
  wk: 'weeks',
  mo: 'months',
  a: 'years',
};

function timesText(repeat: unknown): string | undefined {
  if (!isJson(repeat) || repeat.frequency === undefined) return undefined;
  const unit = PERIOD_UNITS[textOf(repeat.periodUnit) ?? ''];
  const times = repeat.frequency === 1 ? 'once' : `${String(repeat.frequency)} times`;
  if (unit === undefined) return times;
  const period = repeat.period ?? 1;
  return `${times} every ${period === 1 ? unit.slice(0, -1) : `${String(period)} ${unit}`}`;
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
      firstDay(content, 'authoredOn', 'effectiveDateTime', 'effectivePeriod', 'dateAsserted'),
      prescriptionStatus(content),
      unique([
        referenceText(content.requester) ?? referenceText(content.informationSource),
        conceptTexts(content.reasonCode),
      ]).join('; '),
      origin,
    );
  };

const PRESCRIBED = ['MedicationRequest', 'MedicationStatement'];
const COLUMNS = [
  { title: 'Medication' },
  { title: 'Directions' },
  { title: 'Ordered' },
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
        { title: 'Status' },
        ORIGIN,
      ],
      row: (entry, lookup) => {
        const { content, origin } = entry;
        return row(
          firstDay(content, 'whenHandedOver', 'whenPrepared'),
          medicationName(entry, lookup),
          amountText(content.quantity),
          amountText(content.daysSupply),
          statusText(content.status),
          origin,
        );
      },
    },
    {
      caption: 'Given',
      types: ['MedicationAdministration'],
      columns: [{ title: 'Date' }, { title: 'Medication' }, { title: 'Dose' }, { title: 'Status' }, ORIGIN],
      row: (entry, lookup) => {
        const { content, origin } = entry;
        const dosage = isJson(content.dosage) ? content.dosage : {};
        return row(
          firstDay(content, 'effectiveDateTime', 'effectivePeriod'),
          medicationName(entry, lookup),
          textOf(dosage.text) ?? unique([amountText(dosage.dose), conceptText(dosage.route)]).join(', '),
          statusText(content.status),
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
        { title: 'Status' },
        { title: 'Lot' },
        { title: 'Where' },
        ORIGIN,
      ],
      row: ({ content, origin }) =>
        row(
          firstDay(content, 'occurrenceDateTime', 'recorded') ?? textOf(content.occurrenceString),
          conceptText(content.vaccineCode),
          unique([statusText(content.status), conceptText(content.statusReason)]).join(': '),
          textOf(content.lotNumber),
          referenceText(content.location) ?? referenceText(objectsOf(content.performer)[0]?.actor),
          origin,
        ),
    },
  ],
};
