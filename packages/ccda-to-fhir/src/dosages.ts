import { amountInWords } from './amounts.ts';
import { concept, quantity, unitMembers } from './datatypes.ts';
import {
  attribute,
  type CdaElement,
  childOf,
  childrenOf,
  elementsAt,
  line,
  ownText,
  referredWords,
} from './element.ts';
import { type FhirJson, fhirText } from './json.ts';
import { shareName } from './shown-names.ts';
import type { DocumentScope } from './table.ts';
import { timingsOf } from './timings.ts';

/**
 * How a drug is taken (C-CDA on FHIR, Medications): dose, rate, route, timing,
 * "as needed", and the directions in words; one dosage for each frequency. What
 * cannot be structured stays in the words. Empty when nothing is stated.
 *
 * @param name what the drug is called, which is no direction
 */
export function dosagesOf(
  administration: CdaElement,
  scope: DocumentScope,
  name: string | undefined,
): FhirJson[] {
  const timings = timingsOf(administration, scope);
  const isTimed = timings.some(
    ({ timing, words }) => hasFrequency(timing) || words.length > 0,
  );
  const said = directionsInWords(administration, scope, name, isTimed);
  const { unstructured, ...stated } = statedDosage(administration, scope);
  return timings.flatMap(({ timing, words }) => {
    const made = {
      text: joined(said, unstructured.concat(words)),
      ...stated,
      timing,
    };
    const isStated = Object.values(made).some((part) => part !== undefined);
    return isStated ? [made] : [];
  });
}

const hasFrequency = (timing: FhirJson | undefined): boolean => {
  const { boundsPeriod: _bounds, ...often } = (timing?.repeat ??
    {}) as FhirJson;
  return Object.keys(often).length > 0 || timing?.code !== undefined;
};

/** Directions with the words that they do not have yet. */
function joined(
  said: string | undefined,
  words: readonly string[],
): string | undefined {
  const known = said?.toLowerCase() ?? '';
  const more = words.filter((each) => !known.includes(each.toLowerCase()));
  const parts = new Set([said, ...more].filter((each) => each !== undefined));
  return parts.size === 0 ? undefined : [...parts].join('; ');
}

/** Everything but the timing, and in words what FHIR cannot hold. */
function statedDosage(administration: CdaElement, scope: DocumentScope) {
  const first = (name: string) => childOf(administration, name);
  const doseAndRate = {
    ...quantityOrRange(
      'dose',
      first('doseQuantity'),
      scope,
      unitInWords(first('administrationUnitCode'), scope),
    ),
    ...quantityOrRange('rate', first('rateQuantity'), scope, {}),
  };
  const maximum = first('maxDoseQuantity');
  const over = quantity(childOf(maximum, 'numerator'), scope);
  const under = quantity(childOf(maximum, 'denominator'), scope);
  const reasons = reasonsOf(administration, scope);
  const [asNeeded, ...otherReasons] = reasons;
  const isAsNeeded = childOf(administration, 'precondition') !== undefined;
  const isBounded = over !== undefined && under !== undefined;
  return {
    unstructured: [
      quantityInWords(first('doseQuantity'), scope),
      prefixed('at ', quantityInWords(first('rateQuantity'), scope)),
      isBounded ? undefined : prefixed('at most ', amountInWords(over)),
      prefixed('at most ', quantityInWords(maximum, scope)),
      ...otherReasons.map(({ text }) => prefixed('also for ', fhirText(text))),
    ].filter((each) => each !== undefined),
    ...instructionsOf(administration, scope),
    ...(asNeeded === undefined
      ? { asNeededBoolean: isAsNeeded ? true : undefined }
      : { asNeededCodeableConcept: asNeeded }),
    site: concept(first('approachSiteCode'), scope),
    route: concept(first('routeCode'), scope),
    doseAndRate:
      Object.keys(doseAndRate).length === 0 ? undefined : [doseAndRate],
    maxDosePerPeriod: isBounded
      ? { numerator: over, denominator: under }
      : undefined,
  };
}

const prefixed = (prefix: string, words: string | undefined) =>
  words === undefined ? undefined : `${prefix}${words}`;

/** What a drug that is taken as needed is needed for. */
function reasonsOf(
  administration: CdaElement,
  scope: DocumentScope,
): FhirJson[] {
  return elementsAt(administration, 'precondition/criterion').flatMap(
    (criterion) => {
      const coded = concept(
        childOf(criterion, 'value') ?? childOf(criterion, 'code'),
        scope,
      );
      if (coded !== undefined && !isAssertion(coded)) return [coded];
      const text = line(childOf(criterion, 'text'), scope);
      return text === undefined ? [] : [{ text }];
    },
  );
}

const isAssertion = (code: FhirJson): boolean =>
  JSON.stringify(code).includes('"ASSERTION"');

/** SNOMED CT's codes of the acts that hold instructions. */
const INSTRUCTION = ['409073007', '423564006'];

function instructionsOf(administration: CdaElement, scope: DocumentScope) {
  const acts = elementsAt(
    administration,
    'entryRelationship/act[template=4.20]',
  ).concat(
    elementsAt(
      administration,
      `entryRelationship/act[code=${INSTRUCTION.join('|')}]`,
    ).filter((act) => childOf(act, 'templateId') === undefined),
  );
  const said = acts.flatMap((act) => line(childOf(act, 'text'), scope) ?? []);
  // Beside words, a code without a name says nothing to a patient.
  const isCode = (code: FhirJson | undefined) =>
    code !== undefined && (said.length === 0 || code.text !== undefined);
  const coded = acts
    .map((act) => childOf(act, 'code'))
    .filter((code) => !INSTRUCTION.includes(attribute(code, 'code') ?? ''))
    .map((code) => concept(code, scope))
    .filter(isCode);
  return {
    additionalInstruction: coded.length === 0 ? undefined : coded,
    patientInstruction:
      said.length === 0 ? undefined : [...new Set(said)].join('; '),
  };
}

/** Words of directions; others that name the drug are only its name. */
const DIRECTING =
  /\b(?:apply|bedtime|bid|by mouth|daily|day|drink|drops?|every|give|hours?|inhale|inject|insert|morning|needed|night|noon|once|orally|prn|puffs?|q\d+h?|qd|qhs|qid|spray|swallow|take|tid|times?|twice|week|weekly)\b/i;
/** Cells beside directions in a row: numbers, dates, and statuses. */
const NO_DIRECTION =
  /^(?:[\W\d]*|.{0,12}\d{4}.{0,30}|(?:date|end|ordered|start|stop)\b.*|active|inactive|aborted|completed?|current|discontinued|intent|no longer active|on hold|suspended|unknown)$/i;

/**
 * The directions in words: a free text sig (C-CDA's own template, or any inner
 * administration with LOINC 76662-6), otherwise the text of the entry, otherwise
 * the words that this refers to. A row of a table says more than directions: of
 * it count the cells that can be some, if nothing else says how often.
 */
function directionsInWords(
  administration: CdaElement,
  scope: DocumentScope,
  name: string | undefined,
  isTimed: boolean,
): string | undefined {
  const inner = 'entryRelationship/substanceAdministration';
  const sig = elementsAt(administration, `${inner}[code=76662-6]`)
    .concat(elementsAt(administration, `${inner}[template=4.147]`))
    .map((each) => line(childOf(each, 'text'), scope))
    .find(Boolean);
  if (sig !== undefined) return sig;

  const isName = (words: string): boolean =>
    name !== undefined && shareName(name, words) && !DIRECTING.test(words);
  const text = childOf(administration, 'text');
  const own = ownText(text);
  const isReferring = childOf(text, 'reference') !== undefined;
  const isOwnName = own === name || (isReferring && isName(own ?? ''));
  if (own !== undefined && !isOwnName) return line(text, scope);

  const cells = (referredWords(text, scope) ?? '')
    .replaceAll('\n', ' ')
    .split(/\s*\|\s*/)
    .filter((cell) => cell !== '');
  const isRow = cells.length > 1;
  if (isRow && isTimed) return undefined;
  const directions = cells.filter(
    (cell) =>
      cell !== name && !isName(cell) && !(isRow && NO_DIRECTION.test(cell)),
  );
  return directions.length === 0 ? undefined : directions.join(', ');
}

/** An amount that is stated in words only: "one to two tablets". */
function quantityInWords(
  stated: CdaElement | undefined,
  scope: DocumentScope,
): string | undefined {
  if (stated === undefined || quantity(stated, scope) !== undefined)
    return undefined;
  const value = attribute(stated, 'value');
  const [translated] = childrenOf(stated, 'translation').flatMap(
    (each) =>
      line(childOf(each, 'originalText'), scope) ??
      attribute(each, 'displayName') ??
      [],
  );
  const written =
    value && [value, attribute(stated, 'unit')].filter(Boolean).join(' ');
  return (
    line(childOf(stated, 'originalText'), scope) ??
    ownText(stated) ??
    translated ??
    written
  );
}

/**
 * A dose counts what the administration unit names ("Capsule") unless it has a
 * unit of its own.
 */
function unitInWords(
  code: CdaElement | undefined,
  scope: DocumentScope,
): FhirJson {
  const named = concept(code, scope);
  const name =
    typeof named?.text === 'string'
      ? named.text.replace(/ dosing unit$/i, '')
      : undefined;
  return name === undefined || /^not applicable/i.test(name)
    ? {}
    : { unit: name };
}

function quantityOrRange(
  name: 'dose' | 'rate',
  element: CdaElement | undefined,
  scope: DocumentScope,
  counted: FhirJson,
): FhirJson {
  const own = withoutCount(quantity(element, scope));
  if (own !== undefined) return { [`${name}Quantity`]: { ...counted, ...own } };
  const end = (side: string) => {
    const found = withoutCount(quantity(childOf(element, side), scope));
    return (
      found && {
        ...counted,
        ...unitMembers(attribute(element, 'unit')),
        ...found,
      }
    );
  };
  const low = end('low');
  const high = end('high');
  return low === undefined && high === undefined
    ? {}
    : { [`${name}Range`]: { low, high } };
}

/** A quantity whose unit is only "1": what is counted, another element says. */
export const withoutCount = (
  found: FhirJson | undefined,
): FhirJson | undefined =>
  found?.code === '1' ? { value: found.value, _value: found._value } : found;
