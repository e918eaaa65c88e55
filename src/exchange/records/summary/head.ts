import { incompleteness } from '../reading/completeness.ts';
import type { RecordCompleteness } from '../reading/completeness-store.ts';
import type { ConsolidatedFilter } from '../reading/read-consolidated.ts';
import { type Json, objectsOf, textOf } from '../rules/json.ts';
import { dayText, momentText, NO_NAME, nameText, statusText, unique } from '../rules/words.ts';
import type { SummaryHead } from './parts.ts';

/** The head of a summary: the patient, which part of the record is shown, and how to read it. */
export function headOf(
  patient: Json,
  { filter, madeAt, standing }: { filter: ConsolidatedFilter; madeAt: Date; standing: RecordCompleteness },
): Omit<SummaryHead, 'sections'> {
  const birthDate = dayText(patient.birthDate) ?? 'unknown';
  const age = ageText(textOf(patient.birthDate), patient.deceasedDateTime, madeAt);
  const died = dayText(patient.deceasedDateTime) ?? (patient.deceasedBoolean === true ? 'yes' : undefined);
  const facts: (readonly [string, string | undefined])[] = [
    ['Born', age === undefined || died !== undefined ? birthDate : `${birthDate} (${age})`],
    ['Died', died],
    ['Sex', statusText(patient.gender)],
    ['Address', addresses(patient)],
    ['Contact', unique(objectsOf(patient.telecom).map(({ value }) => textOf(value))).join(', ')],
    ['Patient id', textOf(patient.id)],
    ['Created', momentText(madeAt.toISOString())],
  ];
  return {
    title: 'Medical record summary',
    patient: { name: nameText(patient.name) ?? NO_NAME, birthDate },
    facts: facts.filter((fact): fact is [string, string] => fact[1] !== undefined && fact[1] !== ''),
    alert: incompleteness(standing),
    notes: notesOf(filter),
  };
}

function notesOf({ types, dateFrom, dateTo }: ConsolidatedFilter): string[] {
  const [from, to] = [dayText(dateFrom), dayText(dateTo)];
  const period = [from && `from ${from}`, to && `to ${to}`].filter(Boolean).join(' ');
  return [
    ...(types === undefined ? [] : [`Contains only these resource types: ${types.join(', ')}.`]),
    ...(period === '' ? [] : [`Contains only entries dated ${period}, and undated entries.`]),
    'This summary contains only what the sources have delivered; each line names its origin. Columns without any value are omitted.',
    'Dates and times are as the sources wrote them. Values are shown to five significant digits. Flags in [brackets] were derived from the reference range; all others were given by the source.',
  ];
}

function addresses(patient: Json): string {
  return unique(
    objectsOf(patient.address).map((address) => {
      const lines = Array.isArray(address.line) ? address.line.flatMap((line) => textOf(line) ?? []) : [];
      const state = unique([textOf(address.state), textOf(address.postalCode)]).join(' ');
      return unique([...lines, textOf(address.city), state]).join(', ');
    }),
  ).join('; ');
}

function ageText(birthDate: string | undefined, died: unknown, madeAt: Date): string | undefined {
  if (birthDate === undefined || birthDate.length < 10 || died !== undefined) return undefined;
  const [year = 0, month = 0, date = 0] = birthDate.slice(0, 10).split('-').map(Number);
  const months = (madeAt.getUTCFullYear() - year) * 12 + madeAt.getUTCMonth() + 1 - month;
  const full = madeAt.getUTCDate() < date ? months - 1 : months;
  if (full < 0) return undefined;
  return full < 24 ? `${full} month${full === 1 ? '' : 's'}` : `${Math.floor(full / 12)} years`;
}
