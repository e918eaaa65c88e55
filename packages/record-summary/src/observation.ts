import { SNOMED } from './fhir/absence.ts';
import { codeTable } from './fhir/code-table.ts';
import { codeSystem } from './fhir/codes.ts';
import { localTimeAt } from './fhir/dates.ts';
import { distinctionsOf, type LinkedResources } from './fhir/distinctions.ts';
import {
  comparableText,
  isJson,
  type Json,
  objectsOf,
  rememberingLast,
  textOf,
} from './fhir/json.ts';
import { marksOf } from './fhir/modifiers.ts';
import { ABNORMAL_FLAGS, NORMAL_FLAGS } from './fhir/reader-words.ts';
import {
  amountText,
  codesOf,
  conceptText,
  conceptTexts,
  momentText,
  numberText,
  periodText,
  quantityText,
  readableUnit,
  referenceText,
  statusText,
  unique,
} from './fhir/words.ts';
import { NOTHING } from './parts.ts';

/** When an Observation was made, as the source wrote it. */
export function timeOf(content: Json): unknown {
  const { effectiveDateTime, effectivePeriod, effectiveInstant, issued } =
    content;
  const period = isJson(effectivePeriod) ? effectivePeriod : {};
  return (
    localTimeAt(content, 'effectiveDateTime') ??
    effectiveDateTime ??
    localTimeAt(period, 'start') ??
    period.start ??
    effectiveInstant ??
    issued
  );
}

/**
 * Value and unit of an Observation or one of its components; the unit is '' if
 * there is none.
 */
export function valueWithUnit(
  of: Json,
): { value: string; unit: string } | undefined {
  const quantity = quantityText(of.valueQuantity);
  if (quantity !== undefined) return quantity;
  const text =
    conceptText(of.valueCodeableConcept) ??
    textOf(of.valueString) ??
    (typeof of.valueBoolean === 'boolean'
      ? of.valueBoolean
        ? 'Yes'
        : 'No'
      : undefined) ??
    numberText(of.valueInteger) ??
    rangeText(of.valueRange) ??
    ratioText(of.valueRatio) ??
    momentText(of.valueDateTime) ??
    textOf(of.valueTime) ??
    (isJson(of.valuePeriod) ? periodText(of.valuePeriod) : undefined) ??
    (isJson(of.valueSampledData)
      ? 'A recorded curve; see the FHIR Bundle'
      : undefined) ??
    absence(of.dataAbsentReason);
  return text === undefined ? undefined : { value: text, unit: '' };
}

/** Codes of DataAbsentReason that are no words, where no display says them. */
const ABSENT: Readonly<Record<string, string>> = codeTable({
  'asked-declined': 'asked, declined to answer',
  'asked-unknown': 'asked, not known',
  'negative-infinity': 'below what can be measured',
  'not-a-number': 'not a number',
  'not-applicable': 'not applicable',
  'not-asked': 'not asked',
  'not-performed': 'not performed',
  'not-permitted': 'not permitted',
  'positive-infinity': 'above what can be measured',
  'temp-unknown': 'not known yet',
});

const absence = (reason: unknown): string | undefined => {
  const text = conceptText(reason);
  return text && `No value: ${ABSENT[text] ?? text}`;
};

export function rangeText(range: unknown): string | undefined {
  if (!isJson(range)) return undefined;
  const low = quantityText(range.low);
  const high = quantityText(range.high);
  const unit = high?.unit || low?.unit || '';
  const text =
    low !== undefined && high !== undefined
      ? `${low.value} – ${high.value}`
      : low !== undefined
        ? `≥ ${low.value}`
        : high !== undefined
          ? `≤ ${high.value}`
          : undefined;
  return text && `${text} ${unit}`.trim();
}

export function ratioText(ratio: unknown): string | undefined {
  if (!isJson(ratio)) return undefined;
  const over = amountText(ratio.numerator);
  const under = amountText(ratio.denominator);
  return over !== undefined && under !== undefined
    ? `${over} / ${under}`
    : undefined;
}

/**
 * All reference ranges, each with what it is for: `3.5 – 5.1 mmol/L; Critically
 * high: ≥ 6.5 mmol/L; 3 – 5 mmol/L (children)`.
 */
export const referenceRanges = (of: Json): string =>
  unique(objectsOf(of.referenceRange).map(oneRange)).join('; ');

function oneRange(range: Json): string | undefined {
  const bounds = rangeText(range);
  const words = textOf(range.text);
  const said = comparableText(words) ?? '';
  const isInWords = [range.low, range.high].every((bound) =>
    said.includes(comparableText(quantityText(bound)?.value) ?? ''),
  );
  const text =
    bounds === undefined || (words !== undefined && isInWords) ? words : bounds;
  const meaning = isNormalRange(range) ? undefined : conceptText(range.type);
  const age = rangeText(range.age);
  const whom = unique([
    ...objectsOf(range.appliesTo).map(conceptText),
    age && `age ${age}`,
    text === words ? undefined : words,
  ]).join(', ');
  return (
    text &&
    `${meaning === undefined || said.includes(comparableText(meaning) ?? '') ? '' : `${meaning}: `}${text}${whom && ` (${whom})`}`
  );
}

/**
 * Whether a range says what is normal: a document may also have one for what is
 * high or critical.
 */
const isNormalRange = ({ type }: Json): boolean =>
  type === undefined ||
  codesOf(type).includes('normal') ||
  /^(?:n|normal(?: range)?)$/i.test(conceptText(type) ?? '');

const FLAGS = codeTable(ABNORMAL_FLAGS);
const NORMAL = codeTable(NORMAL_FLAGS);

/**
 * The source's flag; if it gave none, a flag derived from the reference range,
 * in brackets.
 */
export function flagOf(
  of: Json,
): { text: string; isAlert: boolean } | undefined {
  const concepts = objectsOf(of.interpretation);
  const codes = concepts.flatMap(codesOf);
  const alert = codes
    .map((code) => FLAGS[code])
    .find((text) => text !== undefined);
  if (alert !== undefined) return { text: alert, isAlert: true };
  const normal = codes
    .map((code) => NORMAL[code])
    .find((text) => text !== undefined);
  if (normal !== undefined) return { text: normal, isAlert: false };
  const other = concepts.map(conceptText).find((text) => text !== undefined);
  if (other !== undefined)
    return { text: statusText(other) ?? other, isAlert: isAlertInWords(other) };
  return flagByRange(of);
}

/** A source may flag a value in words alone: `Extreme High`. */
const isAlertInWords = (words: string): boolean =>
  /\b(?:abnormal|alert|critical(?:ly)?|elevated|extreme(?:ly)?|high|low|panic|resistant)\b/i.test(
    words,
  ) && !/\b(?:no|non|not|normal|within)\b/i.test(words);

/**
 * Whether a source flagged the value, as normal too, or its reference range
 * allows to tell.
 */
export const isJudged = (of: Json): boolean =>
  flagOf(of) !== undefined || rangeFor(of) !== undefined;

function flagByRange(of: Json): { text: string; isAlert: boolean } | undefined {
  const { value, low, high } = rangeFor(of) ?? {};
  if (value === undefined) return undefined;
  if (high !== undefined && value > high)
    return { text: '[High]', isAlert: true };
  if (low !== undefined && value < low) return { text: '[Low]', isAlert: true };
  return undefined;
}

/**
 * Uses only a single normal range in the unit of the value, or without a unit;
 * it may stand in words: anything else needs clinical judgement.
 */
export function rangeFor(
  of: Json,
): { value: number; low?: number; high?: number } | undefined {
  const ranges = objectsOf(of.referenceRange).filter(isNormalRange);
  const [range] = ranges;
  if (range === undefined || ranges.length > 1 || !isJson(of.valueQuantity))
    return undefined;
  const { value, comparator } = of.valueQuantity;
  if (typeof value !== 'number' || comparator !== undefined) return undefined;
  const unit = readableUnit(of.valueQuantity.unit ?? of.valueQuantity.code);
  const { low, high } = boundsOf(range, unit);
  return low === undefined && high === undefined
    ? undefined
    : { value, low, high };
}

interface Bounds {
  low?: number;
  high?: number;
}

/** @param unit as readers see it; a bound in another one is none */
function boundsOf(range: Json, unit: string): Bounds {
  if (range.low === undefined && range.high === undefined)
    return boundsInWords(textOf(range.text) ?? '', unit);
  const bound = (end: unknown): number | undefined => {
    if (!isJson(end) || typeof end.value !== 'number') return undefined;
    const own = readableUnit(end.unit ?? end.code);
    return own === '' || own === unit ? end.value : undefined;
  };
  return { low: bound(range.low), high: bound(range.high) };
}

const IN_WORDS =
  /^\s*(?:(\d+(?:\.\d+)?)\s*[-–]\s*|(?:<=|≤)\s*)(\d+(?:\.\d+)?)\s*(\D*)$/;

/** `3.5-5.1`, `3.5 – 5.1 mmol/L`, `≤ 5`; everything else says no bounds. */
function boundsInWords(text: string, unit: string): Bounds {
  const [, low, high, words = ''] = IN_WORDS.exec(text) ?? [];
  const own = readableUnit(words.trim());
  if (high === undefined || (own !== '' && own !== unit)) return {};
  return {
    ...(low === undefined ? {} : { low: Number(low) }),
    high: Number(high),
  };
}

/**
 * An Observation's name with what makes it another thing than others of its
 * code, and with `remarksOn`.
 */
export function observationName(
  content: Json,
  linked: LinkedResources,
): string {
  const name = conceptText(content.code) ?? NOTHING;
  const told = distinctionsOf(content, linked)
    .filter(({ key, text }) => key !== '' && !name.endsWith(`[${text}]`))
    .map(({ text }) => text);
  return withRemarks(name, [...told, ...remarksOn(content)]);
}

/** `Glucose (Cerebrospinal fluid, preliminary)` */
export const withRemarks = (
  name: string,
  remarks: readonly string[],
): string => {
  const said = unique(remarks).join(', ');
  return said === '' ? name : `${name} (${said})`;
};

/** The name of a thing that others refer to, with what is marked about it. */
export function markedName(content: Json): string | undefined {
  const name = conceptText(content.code);
  const { words, notUnderstood } = marksOf(content);
  const said = [
    ...words,
    ...(notUnderstood.length > 0 ? ['not understood'] : []),
  ];
  return name && withRemarks(name, said);
}

/** What its performer says beside it, each text once. */
export const notesOf = ({ note }: Json): string[] =>
  unique(objectsOf(note).map(({ text }) => textOf(text)));

/**
 * What is marked about an Observation (its status unless it is final), and whom
 * it is about unless that is the patient: neither must look like a valid value
 * of theirs.
 */
export function remarksOn(observation: Json): string[] {
  const { focus } = observation;
  const whom =
    objectsOf(focus).map(referenceText).filter(Boolean).join(', ') ||
    'another than the patient';
  return unique([
    focus === undefined ? undefined : `about ${whom}`,
    ...marksOf(observation).words,
  ]);
}

/**
 * Columns of the flow sheet: LOINC codes of their values, the unit given in the
 * column title, and by how many per cent two measurements of somebody in whom
 * nothing has changed may differ.
 */
export const VITAL_SIGNS: readonly {
  title: string;
  codes: readonly string[];
  unit: string;
  percent: number;
}[] = [
  { title: 'Heart rate', codes: ['8867-4'], unit: '/min', percent: 5 },
  { title: 'Respiratory rate', codes: ['9279-1'], unit: '/min', percent: 10 },
  {
    title: 'Temp.',
    codes: ['8310-5', '8331-1', '8332-9', '8328-7'],
    unit: '°C',
    percent: 0.5,
  },
  { title: 'SpO2', codes: ['59408-5', '2708-6'], unit: '%', percent: 2 },
  {
    title: 'Height',
    codes: ['8302-2', '8306-3', '8308-9'],
    unit: 'cm',
    percent: 0.5,
  },
  { title: 'Weight', codes: ['29463-7', '3141-9'], unit: 'kg', percent: 1 },
  { title: 'BMI', codes: ['39156-5'], unit: 'kg/m²', percent: 1.5 },
];

export const BLOOD_PRESSURE = {
  panel: ['85354-9', '55284-4'],
  systolic: '8480-6',
  diastolic: '8462-4',
};

const vitalCodes = new Set([
  ...VITAL_SIGNS.flatMap(({ codes }) => codes),
  ...BLOOD_PRESSURE.panel,
  BLOOD_PRESSURE.systolic,
  BLOOD_PRESSURE.diastolic,
]);

const OBSERVED = /^_?(?:value|component|dataAbsentReason|interpretation|note)/;
const REPORTED = /^_?(?:result|conclusion|presentedForm|imagingStudy|media)/;
/**
 * Statuses that explain why there is no value (yet); such resources are shown.
 */
const EXPLANATORY_STATUSES = ['registered', 'cancelled'];

/**
 * Whether an Observation has no value, or a DiagnosticReport no result: a panel
 * whose members are listed themselves, or an appointment filed as an
 * observation. It stays in the record, but the summary does not list it.
 */
export const isEmpty = rememberingLast(
  (content) =>
    !EXPLANATORY_STATUSES.includes(String(content.status)) &&
    !Object.keys(content).some((name) =>
      (content.resourceType === 'DiagnosticReport' ? REPORTED : OBSERVED).test(
        name,
      ),
    ),
);

/**
 * The section an Observation belongs to, by its category, otherwise by its
 * code. One about a donor or a fetus (`focus`) is no result of the patient.
 */
export const categoryOf = rememberingLast(readCategory);

function readCategory(content: Json): 'laboratory' | 'vital-signs' | 'other' {
  const { category, code, focus } = content;
  const categories =
    focus === undefined ? objectsOf(category).flatMap(codesOf) : ['other'];
  if (categories.includes('vital-signs')) return 'vital-signs';
  if (categories.includes('laboratory') || categories.includes('LAB'))
    return 'laboratory';
  if (categories.length > 0) return 'other';
  if (codesOf(code).some((each) => vitalCodes.has(each))) return 'vital-signs';
  const isFinding =
    isOfSnomedOnly(code) && !MEASURED.some((element) => element in content);
  return isFinding ? 'other' : 'laboratory';
}

/** Elements of what a laboratory has measured. */
const MEASURED = [
  'interpretation',
  'referenceRange',
  'specimen',
  'valueQuantity',
];

/**
 * Laboratories code what they measure in LOINC or in their own codes; SNOMED CT
 * alone codes findings.
 */
function isOfSnomedOnly(code: unknown): boolean {
  const codings = isJson(code) ? objectsOf(code.coding) : [];
  return (
    codings.length > 0 &&
    codings.every(({ system }) => codeSystem(system) === SNOMED)
  );
}

/**
 * LOINC and SNOMED CT codes of advance directives, and of their section; FHIR's
 * codes of consents (`consentscope`, `consentcategorycodes`).
 */
const DIRECTIVES: ReadonlySet<string> = new Set([
  '42348-3',
  '75320-2',
  '75773-2',
  '81351-9',
  '100822-6',
  '304251008',
  '304253006',
  '304252001',
  'adr',
  'acd',
  'dnr',
  'emrgonly',
  'hcd',
  'polst',
]);

const DIRECTIVE_WORDS =
  /\b(?:code status|resuscitat(?:e|ion) (?:status|order|preference)|do not (?:attempt )?(?:resuscitat|intubat)|not for resuscitation|dnr|dni|polst|molst|living will|advanced? (?:healthcare |health care )?directive)/i;

/**
 * Whether a resource says what is to be done if the patient cannot say it: an
 * observation, an order about resuscitation, or a consent.
 */
export const isAdvanceDirective = rememberingLast(
  ({ resourceType, category, scope, code, valueQuantity }) =>
    // No directive is a quantity, and most observations are.
    valueQuantity === undefined &&
    (objectsOf(category).some(isOfDirective) ||
      objectsOf(scope).some(isOfDirective) ||
      objectsOf(code).some(isOfDirective) ||
      DIRECTIVE_WORDS.test(conceptText(code) ?? '') ||
      (resourceType === 'Consent' &&
        DIRECTIVE_WORDS.test(conceptTexts(category)))),
);

const isOfDirective = ({ coding }: Json): boolean =>
  objectsOf(coding).some(({ code }) => DIRECTIVES.has(String(code)));
