import { lookupTable } from '../../../lib/lookup-table.ts';
import words from './assertion-words.json' with { type: 'json' };
import { meaningOf, meaningsBySystem, meaningsOf, valueIn, valueMeaning } from './codes.ts';
import { comparable } from './comparable.ts';
import { canBeOneMoment, comparedMoment, day, moment, momentOf } from './dates.ts';
import { classOf, isEnteredInError, mainElement } from './fingerprints.ts';
import { FILLED } from './fold.ts';
import { hashOf } from './ids.ts';
import { canonicalJson, comparableText, isJson, type Json, objectsOf, textOf } from './json.ts';
import { digitsOf, isWithinPrecision, type Measure, measureOf } from './measures.ts';
import { MEDICATION_TYPES } from './resource-types.ts';

/**
 * What a delivery states that must not be lost when it is united with others, by name. A name that starts with `+` may be
 * missing from the leading delivery, because folding adds it (`filled-elements.json`). For an element with parts, `*element`
 * is the whole element and `+element/part` a part that must be preserved; the parts are only added together. A name that
 * starts with `=` holds a hash of the whole resource; one that starts with `@` says which version it is, and never contradicts.
 */
export type Assertions = Readonly<Record<string, string>>;

/** Shortens a long text to its hash: assertions are stored with every delivery. */
const brief = (text: string): string => (text.length > 60 ? hashOf([text]) : text);

const all = (value: unknown): string => (value === undefined ? '' : canonicalJson(value));

const measures = (resource: Json): Record<string, string> => {
  const byName: Record<string, string[]> = {};
  const add = (name: string, from: Json) => {
    const value = valueIn(from)?.value;
    if (value === undefined) return;
    const measure = measureOf(value, from.code);
    const text = measure === undefined ? valueMeaning(value) : measureText(measure);
    byName[name] = [...(byName[name] ?? []), text];
  };
  add('value', resource);
  for (const part of objectsOf(resource.component)) add(`value ${brief(meaningOf(part.code) ?? '')}`, part);
  return Object.fromEntries(Object.entries(byName).map(([name, texts]) => [name, texts.sort().join('\n')]));
};

/** What a flag says of a value: a normal result at one source and an abnormal one at another are not one result. */
const FLAGS: Readonly<Record<string, string>> = lookupTable(words.flags);

const flagsOf = (interpretation: unknown): string =>
  [
    ...new Set(
      objectsOf(interpretation)
        .flatMap(({ coding }) => objectsOf(coding))
        .flatMap(({ code }) => FLAGS[textOf(code) ?? ''] ?? []),
    ),
  ]
    .sort()
    .join();

/** Dose, timing and route separately; the text only if there is nothing else. */
function dosage(value: unknown): Record<string, string> {
  if (value === undefined) return {};
  const doses = objectsOf(value).map(readDose);
  const every = (part: keyof ReturnType<typeof readDose>): string =>
    doses
      .flatMap((dose) => dose[part] ?? [])
      .sort()
      .join();
  return {
    '*dosage': canonicalJson(doses),
    '+dosage/dose': every('dose'),
    '+dosage/timing': every('timing'),
    '+dosage/route': every('route'),
    '+dosage/text': every('text'),
  };
}

function readDose({ text, timing, doseAndRate, dose, route, asNeededBoolean, ...rest }: Json) {
  const repeat = isJson(timing) && isJson(timing.repeat) ? timing.repeat : {};
  const rates = [...objectsOf(doseAndRate), { doseQuantity: dose, rateRatio: rest.rateRatio }];
  const amounts = rates.flatMap(({ doseQuantity, doseRange, rateQuantity, rateRange, rateRatio }) =>
    [doseQuantity, doseRange, rateQuantity, rateRange, rateRatio].flatMap((each) => quantity(each) ?? []),
  );
  // The conversion of C-CDA writes an amount without a unit so; an amount of 1 states nothing more than "a dose".
  const counted = /^dose: (\d+)$/i.exec(textOf(text) ?? '')?.[1];
  const bounds = isJson(repeat.boundsPeriod) ? moment(repeat.boundsPeriod.end) : undefined;
  const timed = [
    rateOf(repeat) ?? (isJson(timing) ? rateOfCode(timing.code) : undefined),
    repeat.when === undefined ? undefined : canonicalJson(repeat.when),
    repeat.timeOfDay === undefined ? undefined : canonicalJson(repeat.timeOfDay),
    bounds === undefined ? undefined : `until ${bounds}`,
    asNeededBoolean === true ? 'as needed' : undefined,
  ].flatMap((each) => each ?? []);
  if (amounts.length === 0 && counted !== undefined && counted !== '1') amounts.push(`#${counted} `);
  const isSentence = amounts.length === 0 && timed.length === 0 && counted === undefined;
  return {
    dose: amounts.length === 0 ? undefined : amounts.join(),
    timing: timed.length === 0 ? undefined : timed.join(),
    route: routeOf(route),
    text: isSentence ? comparableText(text) : undefined,
  };
}

/** Routes are compared by name, because every standard has codes of its own: `ORAL` is `Oral route`. */
const routeOf = (route: unknown): string | undefined => {
  const [concept] = objectsOf(route);
  const name = comparableText(concept?.text) ?? comparableText(objectsOf(concept?.coding)[0]?.display);
  return name?.replace(/ (?:route|use)$/, '') ?? meaningOf(route);
};

/** Days in a unit of `Timing`, and times a day of GTSAbbreviation. */
const DAYS: Readonly<Record<string, number>> = lookupTable(words.days);
const TIMES_A_DAY: Readonly<Record<string, number>> = lookupTable(words.timesADay);

/** How often, as times a day: every 6 hours is 4 times a day, however it is written. */
function rateOf({
  frequency,
  frequencyMax,
  period,
  periodMax,
  periodUnit,
  duration,
  count,
}: Json): string | undefined {
  const days = DAYS[textOf(periodUnit) ?? ''];
  const parts = [frequency, period, periodUnit, frequencyMax, periodMax, duration, count];
  if (parts.every((part) => part === undefined)) return undefined;
  const isPlain =
    typeof period === 'number' && days !== undefined && parts.slice(3).every((part) => part === undefined);
  if (!isPlain) return canonicalJson(parts);
  return `${Number((Number(frequency ?? 1) / (period * days)).toPrecision(6))} a day`;
}

function rateOfCode(code: unknown): string | undefined {
  const meaning = meaningOf(code);
  const times = TIMES_A_DAY[meaning?.split('|')[1]?.toUpperCase() ?? ''];
  return times === undefined ? meaning : `${times} a day`;
}

function quantity(value: unknown): string | undefined {
  const measure = measureOf(value);
  if (measure !== undefined) return `${measure.comparator}#${measure.value} ${measure.unit}`;
  return value === undefined ? undefined : canonicalJson(value);
}

/**
 * The codes of a thing by system, if there are several ways to compare it: two that share a coarse code may differ in the fine one.
 * Folding adds the codes of the other systems.
 */
function codesIn(concept: unknown): Record<string, string> {
  if (!isJson(concept)) return {};
  const bySystem = [...meaningsBySystem(concept)];
  if (bySystem.length < 2 && bySystem.every(([, readings]) => readings.length < 2)) return {};
  return Object.fromEntries(bySystem.map(([system, readings]) => [`+code ${system}`, readings.join()]));
}

/** The end of a period; empty if it equals the start, which adds no information. */
function endOf(resource: Json): string {
  for (const name of ['period', 'effectivePeriod', 'performedPeriod', 'occurrencePeriod', 'onsetPeriod']) {
    const value = resource[name];
    if (!isJson(value)) continue;
    const end = comparedMoment(value, 'end');
    if (end !== undefined && end !== comparedMoment(value, 'start')) return end;
  }
  return '';
}

const attachments = (forms: unknown): string =>
  objectsOf(forms)
    .flatMap(({ hash, data }) => textOf(hash) ?? textOf(data) ?? [])
    .sort()
    .join();

/** Each reaction is a part of its own: a list that contains more than another still agrees with it. */
function reactions(value: unknown): Record<string, string> {
  if (value === undefined) return {};
  const each = objectsOf(value).map(({ manifestation, severity }) => [
    meaningsOf(manifestation).join('&'),
    textOf(severity) ?? '',
  ]);
  return {
    '*reaction': canonicalJson(each),
    ...Object.fromEntries(each.map((reaction) => [`+reaction/${brief(reaction.join(' '))}`, 'said'])),
  };
}

/** Different NPIs mean different practitioners or organizations. */
const npi = (identifiers: unknown): string =>
  objectsOf(identifiers)
    .filter(({ system }) => system === 'http://hl7.org/fhir/sid/us-npi')
    .flatMap(({ value }) => textOf(value) ?? [])
    .sort()
    .join();

const drug = (resource: Json): Record<string, string> => ({
  ...dosage(
    FILLED[textOf(resource.resourceType) ?? '']?.includes('dosage')
      ? resource.dosage
      : resource.dosageInstruction,
  ),
  intent: textOf(resource.intent) ?? '',
});

const BY_TYPE: Readonly<Record<string, (resource: Json) => Record<string, string>>> = lookupTable({
  AllergyIntolerance: ({ criticality, reaction, onsetDateTime }) => ({
    '+onset': day(onsetDateTime) ?? '',
    '+criticality': textOf(criticality) ?? '',
    ...reactions(reaction),
  }),
  CarePlan: ({ activity }) => ({ activity: all(activity) }),
  Condition: ({ severity, abatementDateTime, onsetDateTime, recordedDate }) => ({
    '+severity': meaningOf(severity) ?? '',
    abatement: day(abatementDateTime) ?? '',
    onset: day(onsetDateTime) ?? day(recordedDate) ?? '',
  }),
  DiagnosticReport: ({ conclusion, presentedForm, conclusionCode }) => ({
    '+conclusion': comparableText(conclusion) ?? '',
    '+conclusionCode': meaningsOf(conclusionCode).join(),
    '+form': attachments(presentedForm),
  }),
  DocumentReference: ({ type, date, docStatus }) => ({
    type: meaningOf(type) ?? '',
    '+date': moment(date) ?? '',
    '+docStatus': textOf(docStatus) ?? '',
  }),
  Encounter: (resource) => ({
    class: classOf(resource) ?? '',
    '+type': meaningsOf(resource.type).join(),
  }),
  FamilyMemberHistory: ({ condition }) => ({ condition: all(condition) }),
  Goal: ({ target }) => ({ target: all(target) }),
  Immunization: ({ lotNumber, doseQuantity }) => ({
    '+lot': comparableText(lotNumber) ?? '',
    '+dose': quantity(doseQuantity) ?? '',
  }),
  MedicationAdministration: drug,
  MedicationDispense: (resource) => ({
    ...drug(resource),
    '+quantity': quantity(resource.quantity) ?? '',
    '+days': quantity(resource.daysSupply) ?? '',
  }),
  MedicationRequest: (resource) => ({
    ...drug(resource),
    ...(isJson(resource.dispenseRequest)
      ? {
          '*dispense': canonicalJson(resource.dispenseRequest),
          '+dispense/quantity': quantity(resource.dispenseRequest.quantity) ?? '',
        }
      : {}),
  }),
  MedicationStatement: drug,
  Observation: (resource) => ({ ...measures(resource), '+flag': flagsOf(resource.interpretation) }),
  Organization: ({ identifier }) => ({ '+npi': npi(identifier) }),
  Practitioner: ({ identifier }) => ({ '+npi': npi(identifier) }),
  ServiceRequest: ({ intent, quantityQuantity }) => ({
    intent: textOf(intent) ?? '',
    quantity: quantity(quantityQuantity) ?? '',
  }),
});

/**
 * The assertions of a resource.
 *
 * @param writtenBy the source that wrote the resource; undefined if it was converted from a document. Two resources with
 *   different ids at the same source are united only when their whole content agrees (`=`).
 */
export function assertionsIn(resource: Json, writtenBy: string | undefined): Assertions {
  const type = textOf(resource.resourceType) ?? '';
  const stated: Record<string, string> = {};
  const state = (name: string, text: string): void => {
    if (text !== '') stated[name] = brief(text);
  };
  const stateAll = (texts: Record<string, string> = {}): void => {
    for (const name in texts) state(name, texts[name] ?? '');
  };
  state('status', statusOf(resource, writtenBy !== undefined));
  state('@retracted', isEnteredInError(resource) ? 'yes' : '');
  state('@issued', resource.identifier === undefined ? '' : (moment(resource.issued) ?? ''));
  state('not', resource.doNotPerform === true ? 'to be performed' : '');
  state('state', meaningsOf(resource.clinicalStatus).join());
  state('verified', meaningsOf(resource.verificationStatus).join());
  state('lifecycle', textOf(resource.lifecycleStatus) ?? '');
  state(FILLED[type]?.includes('bodySite') ? '+site' : 'site', meaningsOf(resource.bodySite).join());
  state('end', endOf(resource));
  state('time', words.timed.includes(type) ? (momentOf(resource) ?? '') : '');
  stateAll(codesIn(resource[mainElement(type)]));
  stateAll(BY_TYPE[type]?.(resource));
  if (writtenBy !== undefined && !COPIED.has(type)) state(`=${writtenBy}`, hashOf([comparable(resource)]));
  return stated;
}

/** Types of which a source often has several equal copies; they contain nothing about the person. */
const COPIED: ReadonlySet<string> = new Set(words.copied);

/** The status; empty if unknown. A document has one word for a drug that was stopped and one that was taken to its end. */
function statusOf({ resourceType, status }: Json, isNative: boolean): string {
  const isDrug = MEDICATION_TYPES.has(textOf(resourceType) ?? '');
  return status === 'unknown'
    ? ''
    : !isNative && isDrug && status === 'completed'
      ? 'ended'
      : (textOf(status) ?? '');
}

/** Statuses that precede a status in the life of one resource; any other two different statuses contradict each other. */
export const EARLIER: Readonly<Record<string, readonly string[]>> = lookupTable(words.earlier);

/**
 * Whether a resource with the assertions `leading` can absorb one with the assertions `other` without loss: each assertion
 * of `other` is present, is present more precisely, has been superseded by a later status, or is added by folding.
 */
export function canTakeIn(leading: Assertions, other: Assertions): boolean {
  return Object.entries(other).every(([name, text]) => {
    const known = leading[name];
    if (name.startsWith('@')) return true;
    if (known === undefined) return isAdded(name, leading);
    if (name.startsWith('*')) return true;
    // The leading delivery has the more precise one.
    if (name === 'time' && text.length > known.length) return false;
    return agrees(name, known, text) || (name === 'status' && EARLIER[known]?.includes(text) === true);
  });
}

function isAdded(name: string, leading: Assertions): boolean {
  const [element = '', part] = name.slice(1).split('/');
  return (
    '*='.includes(name.charAt(0)) ||
    (name.startsWith('+') && (part === undefined || leading[`*${element}`] === undefined))
  );
}

export function agrees(name: string, left: string, right: string): boolean {
  if (left === right) return true;
  return name === 'time'
    ? canBeOneMoment(left, right)
    : name.startsWith('value') && isSameMeasure(left, right);
}

const MEASURE = /^([<>=a-z]*)#(\S+?)(?:;(\d+))? (.*)$/;

/** The digits are said where they are not those of the number, whose point was moved. */
const measureText = ({ comparator, value, written: own, unit }: Measure): string =>
  `${comparator}#${value}${own === value ? '' : `;${digitsOf(own)}`} ${unit}`;

const written = ([, , value, digits]: RegExpExecArray) => ({
  value: Number(value),
  digits: digits === undefined ? digitsOf(Number(value)) : Number(digits),
});

function isSameMeasure(left: string, right: string): boolean {
  const [one, other] = [MEASURE.exec(left), MEASURE.exec(right)];
  if (one === null || other === null || one[1] !== other[1] || one[4] !== other[4]) return false;
  return isWithinPrecision(written(one), written(other));
}
