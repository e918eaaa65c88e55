import {
  canBeOneMoment,
  canonicalJson,
  comparableText,
  comparedMoment,
  conceptText,
  day,
  isEnteredInError,
  isJson,
  isWithinPrecision,
  type Json,
  type Measure,
  meaningOf,
  meaningsBySystem,
  meaningsOf,
  measureIn,
  measureOf,
  moment,
  momentOf,
  NOT_LINKED,
  objectsOf,
  sidesIn,
  significantDigits,
  specimenFrom,
  textOf,
  valueMeaning,
} from '#record-summary/fhir';
import { lookupTable } from '../../../lib/lookup-table.ts';
import { comparable } from './comparable.ts';
import { FILLED } from './filled-elements.ts';
import { classOf, mainElement } from './fingerprints.ts';
import { hashOf } from './ids.ts';
import { MEDICATION_TYPES, typesOf } from './resource-types.ts';

/**
 * What a delivery states that must not be lost when it is united with others,
 * by name. A name that starts with `+` may be missing from the leading
 * delivery, because folding adds it (`FILLED`). For an element
 * with parts, `*element` is the whole element and `+element/part` a part that
 * must be preserved; the parts are only added together. A name that starts with
 * `=` holds a hash of the whole resource; one that starts with `@` says which
 * version it is, and never contradicts.
 */
export type Assertions = Readonly<Record<string, string>>;

/**
 * Shortens a long text to its hash: assertions are stored with every delivery.
 */
const brief = (text: string): string =>
  text.length > 60 ? hashOf([text]) : text;

/**
 * Adds an assertion, unless nothing is said. One by one: collecting them in
 * objects first costs several times as much.
 */
type State = (name: string, text: string | undefined) => void;

const all = (value: unknown): string | undefined =>
  value === undefined ? undefined : canonicalJson(value);

/** Meanings of the systolic and the diastolic pressure, each by itself. */
const PRESSURES = ['http://loinc.org|8480-6', 'http://loinc.org|8462-4'];

/**
 * Whether a measurement is one of the two pressures, which a panel of blood
 * pressure may contain.
 */
export const pressureOf = ({ code, component }: Json): string | undefined => {
  const meaning = component === undefined ? meaningOf(code) : undefined;
  return PRESSURES.find((each) => each === meaning);
};

function stateMeasures(resource: Json, state: State): void {
  // As a component of the panel, which contains it.
  const pressure = pressureOf(resource);
  const own = pressure === undefined ? 'value' : `value ${brief(pressure)}`;
  state(own, valueText(resource));
  const byName = new Map<string, string[]>();
  for (const part of objectsOf(resource.component)) {
    const name = `value ${brief(meaningOf(part.code) ?? '')}`;
    const text = valueText(part);
    if (text !== undefined)
      byName.set(name, [...(byName.get(name) ?? []), text]);
  }
  for (const [name, texts] of byName) state(name, texts.sort().join('\n'));
}

function valueText(of: Json): string | undefined {
  const { value, measure } = measureIn(of);
  return measure !== undefined
    ? measureText(measure)
    : value === undefined
      ? undefined
      : valueMeaning(value);
}

/**
 * What a flag says of a value: a normal result at one source and an abnormal
 * one at another are not one result.
 */
const FLAGS = lookupTable<
  Readonly<Record<string, 'normal' | 'high' | 'low' | 'abnormal'>>
>({
  N: 'normal',
  H: 'high',
  HH: 'high',
  HU: 'high',
  '>': 'high',
  L: 'low',
  LL: 'low',
  LU: 'low',
  '<': 'low',
  A: 'abnormal',
  AA: 'abnormal',
});

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

/**
 * Dose, timing and route separately; the text only if there is nothing else.
 */
function stateDosage(value: unknown, state: State): void {
  if (value === undefined) return;
  const doses = objectsOf(value).map(readDose);
  const every = (part: keyof ReturnType<typeof readDose>): string =>
    doses
      .flatMap((dose) => dose[part] ?? [])
      .sort()
      .join();
  state('*dosage', canonicalJson(doses));
  for (const part of ['dose', 'timing', 'route', 'text'] as const)
    state(`+dosage/${part}`, every(part));
}

function readDose({
  text,
  timing,
  doseAndRate,
  dose,
  route,
  asNeededBoolean,
  ...rest
}: Json) {
  const repeat = isJson(timing) && isJson(timing.repeat) ? timing.repeat : {};
  const rates = [
    ...objectsOf(doseAndRate),
    { doseQuantity: dose, rateRatio: rest.rateRatio },
  ];
  const amounts = rates.flatMap(
    ({ doseQuantity, doseRange, rateQuantity, rateRange, rateRatio }) =>
      [doseQuantity, doseRange, rateQuantity, rateRange, rateRatio].flatMap(
        (each) => quantity(each) ?? [],
      ),
  );
  // The conversion of C-CDA writes an amount without a unit so; an amount of 1
  // states nothing more than "a dose".
  const counted = /^dose: (\d+)$/i.exec(textOf(text) ?? '')?.[1];
  const bounds = isJson(repeat.boundsPeriod)
    ? moment(repeat.boundsPeriod.end)
    : undefined;
  const timed = [
    rateOf(repeat) ?? (isJson(timing) ? rateOfCode(timing.code) : undefined),
    repeat.when === undefined ? undefined : canonicalJson(repeat.when),
    repeat.timeOfDay === undefined
      ? undefined
      : canonicalJson(repeat.timeOfDay),
    bounds === undefined ? undefined : `until ${bounds}`,
    asNeededBoolean === true || rest.asNeededCodeableConcept !== undefined
      ? 'as needed'
      : undefined,
  ].flatMap((each) => each ?? []);
  if (amounts.length === 0 && counted !== undefined && counted !== '1')
    amounts.push(`#${counted} `);
  const isSentence =
    amounts.length === 0 && timed.length === 0 && counted === undefined;
  return {
    dose: amounts.length === 0 ? undefined : amounts.join(),
    timing: timed.length === 0 ? undefined : timed.join(),
    route: routeOf(route),
    text: isSentence ? comparableText(text) : undefined,
  };
}

/**
 * Routes are compared by name, because every standard has codes of its own:
 * `ORAL` is `Oral route`.
 */
const routeOf = (route: unknown): string | undefined => {
  const [concept] = objectsOf(route);
  const name =
    comparableText(concept?.text) ??
    comparableText(objectsOf(concept?.coding)[0]?.display);
  return name?.replace(/ (?:route|use)$/, '') ?? meaningOf(route);
};

/** Days in a unit of `Timing`, and times a day of GTSAbbreviation. */
const DAYS: Readonly<Record<string, number>> = lookupTable({
  s: 1 / 86_400,
  min: 1 / 1_440,
  h: 1 / 24,
  d: 1,
  wk: 7,
  mo: 30,
  a: 365,
});
const TIMES_A_DAY: Readonly<Record<string, number>> = lookupTable({
  Q1H: 24,
  Q2H: 12,
  Q3H: 8,
  Q4H: 6,
  Q6H: 4,
  Q8H: 3,
  QD: 1,
  BID: 2,
  TID: 3,
  QID: 4,
  QOD: 0.5,
});

/**
 * How often, as times a day: every 6 hours is 4 times a day, however it is
 * written.
 */
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
  const parts = [
    frequency,
    period,
    periodUnit,
    frequencyMax,
    periodMax,
    duration,
    count,
  ];
  if (parts.every((part) => part === undefined)) return undefined;
  const isPlain =
    typeof period === 'number' &&
    days !== undefined &&
    parts.slice(3).every((part) => part === undefined);
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
  if (measure !== undefined)
    return `${measure.comparator}#${measure.value} ${measure.unit}`;
  return value === undefined ? undefined : canonicalJson(value);
}

/**
 * The codes of a thing by system, if there are several ways to compare it: two
 * that share a coarse code may differ in the fine one. Folding adds the codes
 * of the other systems.
 */
function stateCodes(concept: unknown, state: State): void {
  if (!isJson(concept)) return;
  // One code may stand for both sides; folding adds no words.
  state(
    'side',
    /\b(?:left|right)\b/i.exec(conceptText(concept) ?? '')?.[0].toLowerCase(),
  );
  const bySystem = meaningsBySystem(concept);
  const [only] = bySystem.values();
  if (bySystem.size > 1 || (only !== undefined && only.length > 1))
    for (const [system, readings] of bySystem)
      state(`+code ${system}`, readings.join());
}

const PERIODS = [
  'period',
  'effectivePeriod',
  'performedPeriod',
  'occurrencePeriod',
  'onsetPeriod',
];

/**
 * The end of a period; undefined if it equals the start, which adds no
 * information.
 */
function endOf(resource: Json): string | undefined {
  for (const name of PERIODS) {
    const value = resource[name];
    if (!isJson(value)) continue;
    const end = comparedMoment(value, 'end');
    if (end !== undefined && end !== comparedMoment(value, 'start')) return end;
  }
  return undefined;
}

const attachments = (forms: unknown): string =>
  objectsOf(forms)
    .flatMap(({ hash, data }) => textOf(hash) ?? textOf(data) ?? [])
    .sort()
    .join();

/**
 * The severities of each reaction. Folding adds the reactions and severities that
 * the leading delivery lacks (`fold.ts`), so that only a different severity of
 * the same reaction contradicts.
 */
function stateReactions(value: unknown, state: State): void {
  const severities = new Map<string, string[]>();
  for (const reaction of objectsOf(value)) {
    const severity = textOf(reaction.severity);
    const name = reactionKey(reaction);
    if (severity !== undefined)
      severities.set(name, [...(severities.get(name) ?? []), severity]);
  }
  for (const [name, stated] of severities)
    state(`+severity ${brief(name)}`, [...new Set(stated)].sort().join());
}

/** What a reaction to a substance is, however severe. */
export const reactionKey = ({ manifestation }: Json): string =>
  meaningsOf(manifestation).join('&');

/** The number of a fill of a prescription (packages/hl7v2-to-fhir/src/rds.ts). */
const fillNumber = (identifiers: unknown): string | undefined =>
  objectsOf(identifiers)
    .filter(({ type }) => isJson(type) && type.text === 'Fill number')
    .flatMap(({ value }) => textOf(value) ?? [])
    .at(0);

/** Different NPIs mean different practitioners or organizations. */
const npi = (identifiers: unknown): string =>
  objectsOf(identifiers)
    .filter(({ system }) => system === 'http://hl7.org/fhir/sid/us-npi')
    .flatMap(({ value }) => textOf(value) ?? [])
    .sort()
    .join();

function stateDrug(resource: Json, state: State): void {
  const isFilled =
    FILLED[textOf(resource.resourceType) ?? '']?.includes('dosage') === true;
  stateDosage(isFilled ? resource.dosage : resource.dosageInstruction, state);
  state('intent', textOf(resource.intent));
}

const BY_TYPE: Readonly<
  Record<string, (resource: Json, state: State) => void>
> = lookupTable({
  AllergyIntolerance(resource, state) {
    state('+onset', day(resource, 'onsetDateTime'));
    state('+criticality', textOf(resource.criticality));
    stateReactions(resource.reaction, state);
  },
  CarePlan: ({ activity }, state) => state('activity', all(activity)),
  Condition(resource, state) {
    state('+severity', meaningOf(resource.severity));
    state('abatement', day(resource, 'abatementDateTime'));
    state('onset', day(resource, 'onsetDateTime', 'recordedDate'));
  },
  DiagnosticReport({ conclusion, presentedForm, conclusionCode }, state) {
    state('+conclusion', comparableText(conclusion));
    state('+conclusionCode', meaningsOf(conclusionCode).join());
    state('+form', attachments(presentedForm));
  },
  DocumentReference({ type, date, docStatus }, state) {
    state('type', meaningOf(type));
    state('+date', moment(date));
    state('+docStatus', textOf(docStatus));
  },
  Encounter(resource, state) {
    state('class', classOf(resource));
    state('+type', meaningsOf(resource.type).join());
  },
  FamilyMemberHistory: ({ condition }, state) =>
    state('condition', all(condition)),
  Goal: ({ target }, state) => state('target', all(target)),
  Immunization({ lotNumber, doseQuantity }, state) {
    state('+lot', comparableText(lotNumber));
    state('+dose', quantity(doseQuantity));
  },
  MedicationAdministration: stateDrug,
  MedicationDispense(resource, state) {
    stateDrug(resource, state);
    state('+quantity', quantity(resource.quantity));
    state('+days', quantity(resource.daysSupply));
    state('+fill', fillNumber(resource.identifier));
  },
  MedicationRequest(resource, state) {
    stateDrug(resource, state);
    if (!isJson(resource.dispenseRequest)) return;
    state('*dispense', canonicalJson(resource.dispenseRequest));
    state('+dispense/quantity', quantity(resource.dispenseRequest.quantity));
  },
  MedicationStatement: stateDrug,
  Observation(resource, state) {
    stateMeasures(resource, state);
    state('+flag', flagsOf(resource.interpretation));
    state('+specimen', specimenOf(resource));
    state('+method', comparableText(conceptText(resource.method)));
  },
  Organization: ({ identifier }, state) => state('+npi', npi(identifier)),
  Practitioner: ({ identifier }, state) => state('+npi', npi(identifier)),
  ServiceRequest({ intent, quantityQuantity }, state) {
    state('intent', textOf(intent));
    state('quantity', quantity(quantityQuantity));
  },
});

/** The kind of specimen, as far as the resource says it without another one. */
function specimenOf({ specimen, contained }: Json): string | undefined {
  const [reference, ...others] = objectsOf(specimen);
  const found =
    others.length === 0 && specimenFrom(reference, contained, NOT_LINKED);
  if (!found) return undefined;
  return found.isUsual === true ? 'blood' : comparableText(found.text);
}

/**
 * The sides of the body site, whose code may stand for both: folding adds a
 * site as a whole, but no side to one.
 */
function stateSides({ bodySite }: Json, state: State): void {
  if (bodySite === undefined) return;
  state('*place', 'said');
  state('+place/side', objectsOf(bodySite).flatMap(sidesIn).sort().join());
}

/**
 * The assertions of a resource.
 *
 * @param writtenBy the source that wrote the resource; undefined if it was
 *   converted from a document. Two resources with different ids at the same
 *   source are united only when their whole content agrees (`=`).
 */
export function assertionsIn(
  resource: Json,
  writtenBy: string | undefined,
): Assertions {
  const type = textOf(resource.resourceType) ?? '';
  const stated: Record<string, string> = {};
  const state: State = (name, text) => {
    if (text !== undefined && text !== '') stated[name] = brief(text);
  };
  state('status', assertedStatus(resource, writtenBy !== undefined));
  if (isEnteredInError(resource)) state('@retracted', 'yes');
  if (resource.identifier !== undefined)
    state('@issued', moment(resource.issued));
  if (resource.doNotPerform === true) state('not', 'to be performed');
  state('state', meaningsOf(resource.clinicalStatus).join());
  state('verified', meaningsOf(resource.verificationStatus).join());
  state('lifecycle', textOf(resource.lifecycleStatus));
  state(
    FILLED[type]?.includes('bodySite') ? '+site' : 'site',
    meaningsOf(resource.bodySite).join(),
  );
  stateSides(resource, state);
  state('end', endOf(resource));
  if (TIMED.has(type)) state('time', momentOf(resource));
  stateCodes(resource[mainElement(type)], state);
  BY_TYPE[type]?.(resource, state);
  // Two pressures of one source are not one, but both are in one panel.
  const pressure = type === 'Observation' ? (pressureOf(resource) ?? '') : '';
  if (writtenBy !== undefined && !COPIED.has(type))
    state(`=${writtenBy}${pressure}`, hashOf([comparable(resource)]));
  return stated;
}

/**
 * Types of which a source often has several equal copies; they contain nothing
 * about the person.
 */
const COPIED = typesOf(
  'Device',
  'Location',
  'Medication',
  'Organization',
  'Practitioner',
);
/** Types of which the moment is stated. */
const TIMED = typesOf(
  'DiagnosticReport',
  'Encounter',
  'MedicationAdministration',
  'MedicationDispense',
  'MedicationRequest',
  'MedicationStatement',
  'Observation',
  'Procedure',
  'ServiceRequest',
);

/**
 * The status, if known. A document has one word for a drug that was stopped and
 * one that was taken to its end.
 */
function assertedStatus(
  { resourceType, status }: Json,
  isNative: boolean,
): string | undefined {
  if (status === 'unknown') return undefined;
  const isDrug = MEDICATION_TYPES.has(textOf(resourceType) ?? '');
  return !isNative && isDrug && status === 'completed'
    ? 'ended'
    : textOf(status);
}

/**
 * Statuses that precede a status in the life of one resource; any other two
 * different statuses contradict each other.
 */
export const EARLIER: Readonly<Record<string, readonly string[]>> = lookupTable(
  {
    final: ['registered', 'partial', 'preliminary'],
    amended: ['registered', 'partial', 'preliminary', 'final'],
    corrected: ['registered', 'partial', 'preliminary', 'final'],
    appended: ['registered', 'partial', 'preliminary', 'final'],
    stopped: ['ended'],
    completed: ['ended'],
  },
);

/**
 * Whether a resource with the assertions `leading` can absorb one with the
 * assertions `other` without loss: each assertion of `other` is present, is
 * present more precisely, has been superseded by a later status, or is added by
 * folding.
 */
export function canTakeIn(leading: Assertions, other: Assertions): boolean {
  for (const name in other)
    if (!isTakenIn(name, other[name] ?? '', leading)) return false;
  return true;
}

function isTakenIn(name: string, text: string, leading: Assertions): boolean {
  const known = leading[name];
  if (name.startsWith('@')) return true;
  if (known === undefined) return isAdded(name, leading);
  if (name.startsWith('*')) return true;
  // The leading delivery has the more precise one.
  if (name === 'time' && text.length > known.length) return false;
  return (
    agrees(name, known, text) ||
    (name === 'status' && EARLIER[known]?.includes(text) === true)
  );
}

function isAdded(name: string, leading: Assertions): boolean {
  const [element = '', part] = name.slice(1).split('/');
  return (
    '*='.includes(name.charAt(0)) ||
    (name.startsWith('+') &&
      (part === undefined || leading[`*${element}`] === undefined))
  );
}

export function agrees(name: string, left: string, right: string): boolean {
  if (left === right) return true;
  return name === 'time'
    ? canBeOneMoment(left, right)
    : name.startsWith('value') && isSameMeasure(left, right);
}

const MEASURE = /^([<>=a-z]*)#(\S+?)(?:;(\d+))? (.*)$/;

/**
 * The digits are said where they are not those of the number, whose point was
 * moved.
 */
const measureText = ({
  comparator,
  value,
  written: own,
  unit,
}: Measure): string =>
  `${comparator}#${value}${own === value ? '' : `;${significantDigits(own)}`} ${unit}`;

const written = ([, , value, digits]: RegExpExecArray) => ({
  value: Number(value),
  digits:
    digits === undefined ? significantDigits(Number(value)) : Number(digits),
});

function isSameMeasure(left: string, right: string): boolean {
  const one = MEASURE.exec(left);
  const other = MEASURE.exec(right);
  if (
    one === null ||
    other === null ||
    one[1] !== other[1] ||
    one[4] !== other[4]
  )
    return false;
  return isWithinPrecision(written(one), written(other));
}
