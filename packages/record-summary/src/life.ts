import { countText } from './count-text.ts';
import { type Json, textOf } from './fhir/json.ts';
import { marksOf } from './fhir/modifiers.ts';
import { dayText, statusText } from './fhir/words.ts';
import type { HeadFact, Life } from './parts.ts';
import { markFuture } from './section.ts';

/** Who a Patient is, as facts for the head of a page: birth, death and sex. */
export function personFacts(patient: Json, madeAt: Date): HeadFact[] {
  const { born, age, died } = lifeOf(patient, madeAt);
  const birth = age === undefined ? born : `${born} (${age})`;
  const facts: HeadFact[] = [{ label: 'Born', value: birth }];

  if (died !== undefined)
    facts.push({ label: 'Died', value: died, tone: 'alert' });

  const sex = statusText(patient.gender);
  if (sex !== undefined) facts.push({ label: 'Sex', value: sex });

  const { words, notUnderstood } = marksOf(patient);
  const marked = [
    ...words,
    ...notUnderstood.map((url) => `not understood: ${url}`),
  ];
  if (marked.length > 0)
    facts.push({ label: 'Note', value: marked.join('; '), tone: 'alert' });
  return facts;
}

/**
 * Reads from a Patient when the person was born, and whether they have died, on
 * which day and at what age. Every door says it by this function: html, pdf,
 * embedded page, health link, IPS, agents and documents.
 *
 * @param patient FHIR R4 Patient
 * @param madeAt when a living person's age is counted, by the calendar of UTC
 */
export function lifeOf(patient: Json, madeAt: Date): Life {
  const birthDate = textOf(patient.birthDate) ?? '';
  const born = dayText(birthDate) ?? 'unknown';

  const died = deathOf(patient);
  if (died !== undefined) return { born, died: markFuture(died, madeAt) };

  const age = ageOn(birthDate, dayOf(madeAt.getTime()));
  return age === undefined ? { born } : { born, age };
}

/**
 * When a person died and at what age, `12 Mar 2017, aged 65 years`; undefined
 * if the Patient does not say that they have died.
 */
export function deathOf(patient: Json): string | undefined {
  const { deceasedDateTime, deceasedBoolean } = patient;

  const day = dayText(deceasedDateTime);
  if (day === undefined)
    return deceasedBoolean === true ? 'on an unknown day' : undefined;

  const birthDate = textOf(patient.birthDate) ?? '';
  const age = ageAtDeath(birthDate, textOf(deceasedDateTime) ?? '');
  return age === undefined ? day : `${day}, aged ${age}`;
}

/**
 * The age at death; where only a month or a year is stated, that on its first
 * and on its last day if they differ: `65 years to 66 years`.
 */
function ageAtDeath(birthDate: string, died: string): string | undefined {
  const { first, last } = daysOf(died);

  const isPeriodOfBirth = first < birthDate && birthDate <= last;
  const youngest = ageOn(birthDate, isPeriodOfBirth ? birthDate : first);
  const oldest = ageOn(birthDate, last);

  if (youngest === undefined || oldest === undefined) return undefined;
  return youngest === oldest ? oldest : `${youngest} to ${oldest}`;
}

/** The first and the last day of a FHIR date or dateTime of any precision. */
function daysOf(date: string): { first: string; last: string } {
  const [year = '', month, day] = date.slice(0, 10).split('-');
  if (month === undefined)
    return { first: `${year}-01-01`, last: `${year}-12-31` };

  const first = `${year}-${month}-${day ?? '01'}`;
  if (day !== undefined) return { first, last: first };
  return { first, last: dayOf(Date.UTC(Number(year), Number(month), 0)) };
}

const DAY_MS = 86_400_000;
const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10);

/**
 * The age on a day: in years; below two years in months, below one month in
 * days. Undefined without a full date of birth, and before it.
 */
function ageOn(birthDate: string, day: string): string | undefined {
  const born = birthDate.slice(0, 10);
  const bornAt = born.length < 10 ? Number.NaN : Date.parse(born);
  const days = Math.floor((Date.parse(day) - bornAt) / DAY_MS);
  if (Number.isNaN(days) || days < 0) return undefined;

  const months = monthsBetween(born, day);
  if (months >= 24) return countText(Math.floor(months / 12), 'year');
  return months >= 1 ? countText(months, 'month') : countText(days, 'day');
}

/** Full months, by the calendar. @param from and `to`: YYYY-MM-DD */
function monthsBetween(from: string, to: string): number {
  const [fromYear = 0, fromMonth = 0, fromDay = 0] = from
    .split('-')
    .map(Number);
  const [toYear = 0, toMonth = 0, toDay = 0] = to.split('-').map(Number);
  const begun = (toYear - fromYear) * 12 + toMonth - fromMonth;
  return toDay < fromDay ? begun - 1 : begun;
}
