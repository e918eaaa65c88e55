import { codeTable } from './code-table.ts';
import { isJson, type Json, objectsOf, textOf } from './json.ts';
import { ENCOUNTER_CLASSES, UNIT_NAMES } from './reader-words.ts';

// FHIR elements as text for readers. Sources deliver all kinds of content; an
// element of an unexpected shape gives no text.

/**
 * The hierarchy tag at the end of SNOMED CT names, which is of no use to
 * readers.
 */
const SEMANTIC_TAG =
  / \((?:disorder|finding|procedure|situation|person|occupation|physical object|substance|observable entity|regime\/therapy|record artifact|event|qualifier value|morphologic abnormality|medicinal product|product|clinical drug|environment|body structure|assessment scale|navigational concept|context-dependent category)\)$/;

/** A name without its SNOMED CT hierarchy tag. */
export const withoutSnomedTag = (
  name: string | undefined,
): string | undefined => {
  const text = name?.trim();
  return text?.endsWith(')') ? text.replace(SEMANTIC_TAG, '') : text;
};

/**
 * A CodeableConcept as text: its text, otherwise the first display, otherwise
 * the first code. A text that is a code is none.
 */
export function conceptText(concept: unknown): string | undefined {
  if (!isJson(concept)) return undefined;
  const codings = objectsOf(concept.coding);
  const text = textOf(concept.text);
  // Most have one, and this is asked more often than anything else.
  if (text !== undefined && !codings.some(({ code }) => code === text))
    return withoutSnomedTag(text) || undefined;

  const codes = codings.flatMap(({ code }) => textOf(code) ?? []);
  const names = codings.flatMap(({ display }) => textOf(display) ?? []);
  const name =
    names.find((each) => !codes.includes(each)) ?? text ?? names[0] ?? codes[0];
  return withoutSnomedTag(name) || undefined;
}

export const conceptTexts = (concepts: unknown): string =>
  unique(objectsOf(concepts).map(conceptText)).join('; ');

export const codesOf = (concept: unknown): string[] =>
  isJson(concept)
    ? objectsOf(concept.coding).flatMap(({ code }) => textOf(code) ?? [])
    : [];

/** The display of a reference. */
export const referenceText = (reference: unknown): string | undefined =>
  isJson(reference) ? withoutSnomedTag(textOf(reference.display)) : undefined;

export function unique(texts: readonly (string | undefined)[]): string[] {
  return [
    ...new Set(
      texts.filter((text): text is string => text !== undefined && text !== ''),
    ),
  ];
}

/** `entered-in-error` → `Entered in error` */
export function statusText(status: unknown): string | undefined {
  const text = textOf(status)?.replaceAll('-', ' ');
  return text === undefined || text === ''
    ? undefined
    : text[0]?.toUpperCase() + text.slice(1);
}

const MONTHS = [
  'Jan',
  'Feb',
  'Mar',
  'Apr',
  'May',
  'Jun',
  'Jul',
  'Aug',
  'Sep',
  'Oct',
  'Nov',
  'Dec',
];
const DATE =
  /^(\d{4})(?:-(\d{2})(?:-(\d{2})(?:T(\d{2}:\d{2})(?::\d{2}(?:\.\d+)?)?(Z|[+-]\d{2}:\d{2})?)?)?)?/;

/**
 * The day as the source wrote it, with the precision given: `7 Mar 2024`, `Mar
 * 2024`, `2024`.
 */
export function dayText(value: unknown): string | undefined {
  const [, year, month, date] = DATE.exec(textOf(value) ?? '') ?? [];
  if (year === undefined) return undefined;
  const name = month === undefined ? undefined : MONTHS[Number(month) - 1];
  return [date === undefined ? undefined : String(Number(date)), name, year]
    .filter(Boolean)
    .join(' ');
}

/**
 * Day and time as the source wrote them, with its time zone; nothing is
 * converted.
 */
export function momentText(value: unknown): string | undefined {
  const [, , , , time, zone] = DATE.exec(textOf(value) ?? '') ?? [];
  const day = dayText(value);
  if (day === undefined || time === undefined) return day;
  const zoneText =
    zone === undefined
      ? ''
      : zone === 'Z' || zone === '+00:00'
        ? ' UTC'
        : ` UTC${zone}`;
  return `${day}, ${time}${zoneText}`;
}

/** `7 Mar 2024`, `7 Mar 2024 to 9 Mar 2024`, `since 7 Mar 2024`. */
export function periodText(
  value: unknown,
  isOngoing = false,
): string | undefined {
  if (!isJson(value)) return dayText(value);
  const start = dayText(value.start);
  const end = dayText(value.end);
  if (start === undefined)
    return end === undefined ? undefined : `until ${end}`;
  if (end === undefined) return isOngoing ? `since ${start}` : start;
  return start === end ? start : `${start} to ${end}`;
}

/** The first of these elements that holds a date or a period, as text. */
export function firstDay(
  resource: Json,
  ...elements: string[]
): string | undefined {
  return elements
    .map((element) => periodText(resource[element]))
    .find((text) => text !== undefined);
}

const UNITS = codeTable(UNIT_NAMES);

/** What UCUM puts in braces: what is counted, or what a number is divided by. */
const ANNOTATION = /\{([^{}]+)\}/g;

/**
 * A UCUM unit as people write it, with its annotations as words: `mL/min/1.73 m²`
 * for `mL/min/{1.73_m2}`, `mg creat` for `mg{creat}`. An annotation may be what
 * the number is divided by, so nothing of it is left out.
 */
export function readableUnit(unit: unknown): string {
  const text = textOf(unit) ?? '';
  const known = UNITS[text];
  if (known !== undefined) return known;

  const separated = text.replaceAll('.{', '{');
  return separated
    .replaceAll(ANNOTATION, annotationText)
    .replaceAll(/\[(IU|HPF|LPF)\]/gi, (_, name: string) => name.toUpperCase())
    .replaceAll(/(?<![A-Za-z])m2(?![A-Za-z0-9])/g, 'm²')
    .replace(/^1$/, '');
}

/** The words of an annotation, apart from the units before and after it. */
function annotationText(
  annotation: string,
  words: string,
  at: number,
  unit: string,
): string {
  const before = unit.slice(0, at);
  const after = unit.slice(at + annotation.length);
  const gapBefore = /[^\s/(]$/.test(before) ? ' ' : '';
  const gapAfter = /^[A-Za-z0-9[]/.test(after) ? ' ' : '';
  return `${gapBefore}${words.replaceAll('_', ' ').trim()}${gapAfter}`;
}

/**
 * The unit of a quantity without what is counted, to compare it with a unit of
 * ours: `/min` for `{beats}/min`.
 */
export function unitOfCount({ unit, code }: Json): string {
  const text = textOf(unit ?? code) ?? '';
  return readableUnit(text.replace(/^\{[^{}]*\}(?=\/)/, ''));
}

const DIGITS = 5;

/** A number with five significant digits; what is before the point in full. */
export function numberText(value: unknown): string | undefined {
  if (typeof value !== 'number' || !Number.isFinite(value))
    return textOf(value);
  return String(
    Math.abs(value) < 10 ** DIGITS
      ? Number(value.toPrecision(DIGITS))
      : Math.round(value),
  );
}

/** How a decimal is written, where a number would lose its last zeros. */
const WRITTEN = 'urn:medical-exchange:written';

/** `1.10`, which says more than 1.1: how exactly was measured. */
function writtenZeros(value: unknown, beside: unknown): string | undefined {
  if (typeof value !== 'number' || !isJson(beside)) return undefined;
  const written = objectsOf(beside.extension)
    .filter(({ url }) => url === WRITTEN)
    .map(({ valueString }) => textOf(valueString) ?? '')
    .find((text) => /^-?\d+\.\d*0$/.test(text));
  const isShort = (written ?? '').replaceAll(/[-.]/g, '').length <= DIGITS;
  return isShort && Number(written) === value ? written : undefined;
}

/** Value and unit of a Quantity. */
export function quantityText(
  quantity: unknown,
): { value: string; unit: string } | undefined {
  if (!isJson(quantity)) return undefined;
  const value =
    writtenZeros(quantity.value, quantity._value) ?? numberText(quantity.value);
  if (value === undefined) return undefined;
  return {
    value: `${textOf(quantity.comparator) ?? ''}${value}`,
    unit: readableUnit(quantity.unit ?? quantity.code),
  };
}

export function amountText(quantity: unknown): string | undefined {
  const amount = quantityText(quantity);
  return amount && `${amount.value} ${amount.unit}`.trim();
}

const CLASSES = codeTable(ENCOUNTER_CLASSES);

/** The class of an Encounter: `Inpatient`. */
export const classText = (of: unknown): string | undefined =>
  isJson(of)
    ? (CLASSES[textOf(of.code) ?? ''] ?? textOf(of.display) ?? textOf(of.code))
    : undefined;

const USES: Readonly<Record<string, string>> = codeTable({
  anonymous: 'not the real name',
  maiden: 'former name',
  old: 'no longer valid',
  temp: 'temporary',
});

/** A name, address or number that does not hold, or not for long, says so. */
export function withUse(text: string, use: unknown): string {
  const remark = USES[textOf(use) ?? ''];
  return text === '' || remark === undefined ? text : `${text} (${remark})`;
}

/** The official name, otherwise the first one that holds. */
export function nameText(names: unknown): string | undefined {
  const all = objectsOf(names);
  const name =
    all.find(({ use }) => use === 'official') ??
    all.find(({ use }) => USES[textOf(use) ?? ''] === undefined) ??
    all[0];
  if (name === undefined) return undefined;
  const given = Array.isArray(name.given)
    ? name.given.flatMap((part) => textOf(part) ?? [])
    : [];
  const parts = [...given, textOf(name.family) ?? ''].filter(
    (part) => part !== '',
  );
  const text = parts.length === 0 ? textOf(name.text) : parts.join(' ');
  return text && withUse(text, name.use);
}

export const NO_NAME = 'Name unknown';
