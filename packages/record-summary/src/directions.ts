import { codeTable } from './fhir/code-table.ts';
import {
  comparableText,
  isJson,
  type Json,
  objectsOf,
  textOf,
} from './fhir/json.ts';
import {
  MOMENT_NAMES,
  PERIOD_NAMES,
  ROUTE_NAMES,
  TIMING_NAMES,
  WEEKDAY_NAMES,
} from './fhir/reader-words.ts';
import {
  amountText,
  conceptText,
  conceptTexts,
  periodText,
  quantityText,
  unique,
  withoutSnomedTag,
} from './fhir/words.ts';
import { rangeText, ratioText } from './observation.ts';

const WORDS = {
  routes: codeTable(ROUTE_NAMES),
  timings: codeTable(TIMING_NAMES),
  periods: codeTable(PERIOD_NAMES),
  moments: codeTable(MOMENT_NAMES),
  weekdays: codeTable(WEEKDAY_NAMES),
};

/**
 * A drug's directions in full, one after the other: the source's words first,
 * then in brackets what its structured elements say beyond them. Without words
 * they are composed: `2 capsules by mouth every 4 hours as needed for pain`.
 *
 * @param dosages `dosageInstruction` or `dosage`, FHIR R4 `Dosage`, or the
 *   `dosage` of a MedicationAdministration
 */
export function directions(dosages: unknown): string {
  const bySequence = [...objectsOf(dosages)].sort(
    (left, right) => place(left) - place(right),
  );
  const all = bySequence.map(directionParts);
  const texts = all.map(({ own, more }) => {
    if (own === undefined) return more;
    // Several dosages in the same words are parts of one direction.
    const parts = unique(
      all.filter((each) => each.own === own).map((each) => each.more),
    );
    return parts.length === 0 ? own : `${own} (${parts.join('; ')})`;
  });
  return unique(texts).join('; ');
}

const place = ({ sequence }: Json): number =>
  typeof sequence === 'number' ? sequence : 0;

/** The source's words, and what the structured elements say beyond them. */
function directionParts(dosage: Json): { own?: string; more: string } {
  const own = withoutSnomedTag(textOf(dosage.text));
  const phrases = howTaken(dosage);
  const instructions = unique([
    ...limits(dosage),
    conceptTexts(dosage.additionalInstruction),
    textOf(dosage.patientInstruction),
  ]);
  if (own === undefined)
    return { more: unique([phrases.join(' '), ...instructions]).join(', ') };
  const said = comparableText(own) ?? '';
  const isNew = (text: string): boolean =>
    !said.includes(comparableText(text) ?? '');
  const more = unique([...phrases, ...instructions].filter(isNew));
  return { own, more: more.join(', ') };
}

/** Dose, route, site and timing, in the order in which they are said. */
function howTaken(dosage: Json): string[] {
  const rates = [
    ...objectsOf(dosage.doseAndRate),
    { doseQuantity: dosage.dose, ...dosage },
  ];
  const timing = isJson(dosage.timing) ? dosage.timing : {};
  const site = conceptText(dosage.site);
  return unique([
    conceptText(dosage.method),
    unique(
      rates.map(
        (each) => doseText(each.doseQuantity) ?? doseRangeText(each.doseRange),
      ),
    )
      .flatMap(doseWithUnit)
      .join(' or '),
    ...rates.map(rateText),
    routeText(dosage.route),
    site && `at ${site}`,
    ...unique([conceptTiming(timing.code), repeatText(timing.repeat)]),
    unique(
      (Array.isArray(timing.event) ? timing.event : []).map((at) =>
        periodText(at),
      ),
    ).join(', '),
    asNeeded(dosage),
  ]);
}

/**
 * A number without a unit is no dose: nobody knows of what. `1` says nothing at
 * all, so it is left out.
 */
const doseWithUnit = (dose: string): string[] =>
  /^[\d.–]+$/.test(dose)
    ? dose === '1'
      ? []
      : [`${dose} (no unit stated)`]
    : [dose];

/**
 * An amount with what is counted written out: `2 capsules` for 2 `{capsule}`.
 */
export function doseText(quantity: unknown): string | undefined {
  const counted = isJson(quantity)
    ? /^\{([a-z][a-z ]*)\}$/i.exec(textOf(quantity.unit ?? quantity.code) ?? '')
    : null;
  const unit = counted?.[1];
  if (unit === undefined) return amountText(quantity);
  const value = quantityText(quantity)?.value;
  return (
    value &&
    `${value} ${value === '1' || unit.endsWith('s') ? unit : `${unit}s`}`
  );
}

/** `1–2 tablets`, where both ends are given. */
function doseRangeText(range: unknown): string | undefined {
  if (!isJson(range)) return undefined;
  const low = quantityText(range.low)?.value;
  const high = doseText(range.high);
  return low === undefined || high === undefined
    ? rangeText(range)
    : `${low}–${high}`;
}

function rateText({
  rateQuantity,
  rateRange,
  rateRatio,
}: Json): string | undefined {
  const rate =
    amountText(rateQuantity) ?? rangeText(rateRange) ?? ratioText(rateRatio);
  return rate && `at ${rate}`;
}

const ORAL = /^(?:oral(?: route)?|oral use|by mouth|swallow, oral|per os)$/i;

export function routeText(route: unknown): string | undefined {
  const text = conceptText(route);
  if (text === undefined) return undefined;
  if (ORAL.test(text)) return 'by mouth';
  return (
    WORDS.routes[text] ??
    (text === text.toUpperCase() ? text.toLowerCase() : text)
  );
}

const conceptTiming = (code: unknown): string | undefined => {
  const text = conceptText(code);
  return text && (WORDS.timings[text.toUpperCase()] ?? text);
};

const spanText = (
  low: unknown,
  high: unknown,
  unit: unknown,
): string | undefined => {
  const name = WORDS.periods[textOf(unit) ?? ''];
  if (low === undefined || name === undefined) return undefined;
  return `${upTo(low, high)} ${low === 1 && high === undefined ? name : `${name}s`}`;
};
const upTo = (low: unknown, high: unknown): string =>
  high === undefined || high === low
    ? String(low)
    : `${String(low)}–${String(high)}`;

/**
 * FHIR `Timing.repeat` in words: `every 4 hours`, `3 times a day`, `twice every
 * 2 weeks`, `for 10 days`.
 */
function repeatText(repeat: unknown): string | undefined {
  if (!isJson(repeat)) return undefined;
  const {
    frequency,
    frequencyMax,
    period = 1,
    periodMax,
    periodUnit,
    duration,
    count,
  } = repeat;
  const every =
    period === 1 && periodMax === undefined
      ? undefined
      : spanText(period, periodMax, periodUnit);
  const unit = WORDS.periods[textOf(periodUnit) ?? ''];
  const number = upTo(frequency ?? 1, frequencyMax);
  const times =
    number === '1' ? 'once' : number === '2' ? 'twice' : `${number} times`;
  const often =
    unit === undefined
      ? frequency && times
      : number === '1' && (every !== undefined || unit !== 'day')
        ? `every ${every ?? unit}`
        : every === undefined
          ? `${times} ${unit === 'hour' ? 'an' : 'a'} ${unit}`
          : `${times} every ${every}`;
  const length = spanText(duration, repeat.durationMax, repeat.durationUnit);
  const texts = (value: unknown): string[] =>
    (Array.isArray(value) ? value : []).flatMap((each) => textOf(each) ?? []);
  const bounds = periodText(repeat.boundsPeriod, true);
  const within =
    amountText(repeat.boundsDuration) ?? rangeText(repeat.boundsRange);
  return unique([
    often === undefined ? undefined : String(often),
    texts(repeat.when)
      .map((moment) => WORDS.moments[moment] ?? moment)
      .join(' and '),
    texts(repeat.timeOfDay).length === 0
      ? undefined
      : `at ${texts(repeat.timeOfDay)
          .map((time) => time.slice(0, 5))
          .join(', ')}`,
    texts(repeat.dayOfWeek).length === 0
      ? undefined
      : `on ${texts(repeat.dayOfWeek)
          .map((day) => WORDS.weekdays[day] ?? day)
          .join(', ')}`,
    length && `over ${length}`,
    within && `for ${within}`,
    count === undefined
      ? undefined
      : `${upTo(count, repeat.countMax)} times in all`,
    bounds
      ?.replace(/^since /, 'from ')
      .replace(/^(?=\d.* to )/, 'from ')
      .replace(/^(?=\d)/, 'on '),
  ]).join(' ');
}

function asNeeded({
  asNeededBoolean,
  asNeededCodeableConcept,
}: Json): string | undefined {
  const reason = conceptText(asNeededCodeableConcept);
  if (reason !== undefined)
    return /^as needed/i.test(reason) ? reason : `as needed for ${reason}`;
  return asNeededBoolean === true ? 'as needed' : undefined;
}

/** `8 tablets per day`, `4 g per 12 hours`. */
function dosePerPeriod(ratio: unknown): string | undefined {
  if (!isJson(ratio)) return undefined;
  const dose = doseText(ratio.numerator);
  const { value, unit, code } = isJson(ratio.denominator)
    ? ratio.denominator
    : {};
  const period = WORDS.periods[textOf(code) ?? textOf(unit) ?? ''];
  if (dose === undefined || period === undefined)
    return ratioText(ratio)?.replace(/ \/ (?:1 )?/, ' per ');
  return `${dose} per ${value === 1 ? period : spanText(value, undefined, code ?? unit)}`;
}

const limits = ({
  maxDosePerPeriod,
  maxDosePerAdministration,
  maxDosePerLifetime,
}: Json): string[] =>
  [
    dosePerPeriod(maxDosePerPeriod),
    doseText(maxDosePerAdministration),
    doseText(maxDosePerLifetime),
  ].flatMap((most, index) =>
    most === undefined
      ? []
      : `at most ${most}${[' ', ' at once', ' in all'][index]}`.trim(),
  );
