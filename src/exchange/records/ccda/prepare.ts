import { isJson, type Json, objectsOf, textOf } from '../rules/json.ts';
import { NONE_AT_ALL } from './negation.ts';
import { isNegated, subjectOf } from './statements.ts';

type Node = Record<string, unknown>;

/** Marks a date without a time, which the converter would read as midnight: `D8` means that eight digits were given. */
const PRECISION = 'D';

/**
 * Rewrites, in place, parts of a parsed C-CDA document that the converter handles wrongly: dates (read as midnight UTC), the year 0000,
 * time zones without a colon, a procedure's single time (expected as a period), doses (given an invented unit),
 * observation values of unsupported types (dropped), concerns with several subjects, allergies without a coded substance, a
 * single element where it expects a list.
 */
export function prepareCcda(node: unknown): void {
  if (Array.isArray(node)) {
    for (const item of node) prepareCcda(item);
    return;
  }
  if (!isJson(node)) return;
  const own = node as Node;
  for (const [name, part] of Object.entries(own)) {
    if (name === 'effectiveTime' || name === 'time') prepareTimes(part);
    else if (name === 'procedure') objectsOf(part).forEach(asPeriod);
    else if (name === 'entry') objectsOf(part).forEach(withOneSubjectEach);
    else if (name === 'act') objectsOf(part).forEach(withSubstance);
    else if (name === 'substanceAdministration') objectsOf(part).forEach(withDoseInWords);
    else if (name === 'observation') objectsOf(part).forEach(withKnownValue);
    prepareCcda(part);
    if (LISTS_OF_ANY_ELEMENT.has(name) && !Array.isArray(part)) own[name] = [part];
  }
}

/**
 * Elements that the converter takes for lists wherever they are. The parser makes lists of them only in some places, so a header with
 * one participant, or a route with one translation, made the conversion fail.
 */
const LISTS_OF_ANY_ELEMENT: ReadonlySet<string> = new Set([
  'entryRelationship',
  'participant',
  'performer',
  'referenceRange',
  'translation',
]);

/** The day on which the document was written. Call it before `prepareCcda`. */
export function dayOfDocument({ effectiveTime }: Json): string | undefined {
  const [, year, month, day] =
    /^(\d{4})(\d{2})?(\d{2})?/.exec(textOf(objectsOf(effectiveTime)[0]?.['@_value']) ?? '') ?? [];
  return year && [year, month, day].filter((part) => part !== undefined).join('-');
}

function prepareTimes(node: unknown): void {
  for (const time of objectsOf(node) as Node[]) {
    const value = textOf(time['@_value']);
    if (value?.startsWith('0000')) delete time['@_value'];
    else if (value !== undefined) time['@_value'] = preparedTime(value);
    for (const name of ['low', 'high', 'center']) prepareTimes(time[name]);
  }
}

function preparedTime(value: string): string {
  const match = /^(\d{4})(\d{2})?(\d{2})?(\d{2})?(\d{2})?(\d{2})?(?:\.\d+)?(Z|[+-]\d{2}:?\d{2})?$/.exec(
    value,
  );
  if (match === null) return value;
  const [, year, month, day, hour, minute, second, zone] = match;
  const date = `${year}${month ?? '01'}${day ?? '01'}`;
  if (hour === undefined) {
    const digits = day !== undefined ? 8 : month !== undefined ? 6 : 4;
    return `${date}000000${PRECISION}${digits}`;
  }
  const offset = zone === undefined || zone === 'Z' ? 'Z' : zone.replace(/^(.{3}):?/, '$1:');
  return `${date}${hour}${minute ?? '00'}${second ?? '00'}${offset}`;
}

/** Removes the marks of `preparedTime`, so that dates have the precision that was given. */
export const withoutTimeMarks = (json: string): string =>
  json.replaceAll(
    /"(\d{4})-(\d{2})-(\d{2})T00:00:00D([468])"/g,
    (_, year: string, month: string, day: string, digits: string) =>
      digits === '8' ? `"${year}-${month}-${day}"` : digits === '6' ? `"${year}-${month}"` : `"${year}"`,
  );

function asPeriod(procedure: Json): void {
  for (const time of objectsOf(procedure.effectiveTime) as Node[]) {
    if (time['@_value'] === undefined || time.low !== undefined) continue;
    time.low = { '@_value': time['@_value'] };
    time.high = { '@_value': time['@_value'] };
    delete time['@_value'];
  }
}

/** Writes the dose into the text, which becomes the dosage instruction; the converter's own dose has an invented unit. */
function withDoseInWords(administration: Json): void {
  const [dose] = objectsOf(administration.doseQuantity);
  const amount = dose === undefined ? undefined : valueText(dose);
  if (amount === undefined) return;
  const written = textOf(administration.text);
  const words = `Dose: ${amount}`;
  (administration as Node).text = written === undefined ? words : `${written} (${words})`;
}

/** Splits a concern with several subjects into one concern each: the converter reads only the first subject. */
function withOneSubjectEach(entry: Json): void {
  (entry as Node).act &&= objectsOf(entry.act).flatMap((act) => {
    const relationships = objectsOf(act.entryRelationship);
    const subjects = relationships.filter(
      (each) => each['@_typeCode'] === 'SUBJ' && each.observation !== undefined,
    );
    if (subjects.length < 2) return [act];
    const others = relationships.filter((each) => !subjects.includes(each));
    return subjects.map((subject) => ({ ...act, entryRelationship: [subject, ...others] }));
  });
}

/**
 * Puts an allergy's substance where the converter expects it. Documents may name it without a code, or only in the value
 * ("no known allergies", "allergy to penicillin").
 */
function withSubstance(act: Json): void {
  const subject = subjectOf(act) as Node | undefined;
  const value = objectsOf(subject?.value)[0];
  if (subject === undefined || !isAllergy(subject)) return;
  withAllReactions(subject);
  const participants = objectsOf(subject.participant);
  const participant = participants.find((each) => each['@_typeCode'] === 'CSM') ?? participants[0];
  if (participant !== undefined) subject.participant = [participant];
  const role = objectsOf(participant?.participantRole)[0];
  const entity = objectsOf(role?.playingEntity)[0];
  const code = objectsOf(entity?.code)[0];
  if (textOf(code?.['@_code']) !== undefined) return;
  const name = [entity?.name, code?.originalText].flatMap((text) => wordsIn(text) ?? [])[0];
  const isOfAnyKind = NONE_AT_ALL[textOf(value?.['@_code']) ?? ''] !== undefined;
  if (name === undefined && isOfAnyKind && !isNegated(act) && !isNegated(subject)) return;
  const named = name === undefined ? value : { '@_displayName': name };
  if (named === undefined) return;
  subject.participant = [{ '@_typeCode': 'CSM', participantRole: { playingEntity: { code: named } } }];
}

/** Joins the reactions of an allergy to one relationship: the converter reads only the first. */
function withAllReactions(allergy: Node): void {
  const relationships = objectsOf(allergy.entryRelationship);
  const reactions = relationships.filter((each) => each['@_typeCode'] === 'MFST');
  if (reactions.length < 2) return;
  allergy.entryRelationship = [
    ...relationships.filter((each) => !reactions.includes(each)),
    { '@_typeCode': 'MFST', observation: reactions.flatMap(({ observation }) => objectsOf(observation)) },
  ];
}

const ALLERGY_OBSERVATION = ['2.16.840.1.113883.10.20.22.4.7', '2.16.840.1.113883.10.20.24.3.90'];
const isAllergy = (observation: Json): boolean =>
  objectsOf(observation.templateId).some((id) => ALLERGY_OBSERVATION.includes(textOf(id['@_root']) ?? '')) ||
  objectsOf(observation.participant).some((participant) => participant['@_typeCode'] === 'CSM');

/** The text of an element that contains only text. */
const wordsIn = (node: unknown): string | undefined =>
  Array.isArray(node)
    ? wordsIn(node[0])
    : (textOf(node) ?? (isJson(node) ? textOf(node['#text']) : undefined));

const KNOWN_VALUES = ['CD', 'CE', 'ST'];
const NUMBERS = ['INT', 'PQ', 'REAL'];
const NUMBER = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i;

function withKnownValue(observation: Json): void {
  for (const value of objectsOf(observation.value) as Node[]) {
    const type = textOf(value['@_xsi:type']);
    const number = textOf(value['@_value']);
    if (type === undefined || KNOWN_VALUES.includes(type)) continue;
    // A coded ordinal; the converter expects a number.
    if (type === 'CO' && textOf(value['@_code']) !== undefined) {
      value['@_xsi:type'] = 'CD';
      continue;
    }
    if (number !== undefined && NUMBER.test(number) && (NUMBERS.includes(type) || type === 'CO')) {
      value['@_xsi:type'] = type === 'INT' && Number.isSafeInteger(Number(number)) ? 'INT' : 'PQ';
      continue;
    }
    // Anything else is kept as text: of `1,000` or `120/80` the converter would read only the beginning.
    const text = valueText(value);
    if (text === undefined) delete (observation as Node).value;
    else {
      value['@_xsi:type'] = 'ST';
      value['#text'] = text;
    }
  }
}

/** A range, time, ratio or text as plain text. */
function valueText(value: Json): string | undefined {
  const quantity = (node: unknown): string | undefined => {
    const [first] = objectsOf(node);
    const number = textOf(first?.['@_value']);
    return number === undefined ? undefined : [number, textOf(first?.['@_unit'])].filter(Boolean).join(' ');
  };
  const excludes = (node: unknown): boolean => objectsOf(node)[0]?.['@_inclusive'] === 'false';
  const [low, high] = [quantity(value.low), quantity(value.high)];
  if (low !== undefined && high !== undefined) return `${low} - ${high}`;
  if (low !== undefined) return `${excludes(value.low) ? '>' : '>='} ${low}`;
  if (high !== undefined) return `${excludes(value.high) ? '<' : '<='} ${high}`;
  const [numerator, denominator] = [quantity(value.numerator), quantity(value.denominator)];
  if (numerator !== undefined && denominator !== undefined) return `${numerator} / ${denominator}`;
  return textOf(value['#text']) ?? quantity(value);
}
