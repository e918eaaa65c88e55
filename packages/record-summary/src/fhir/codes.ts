import {
  CODES_OF_KINDS,
  PREFERRED_SYSTEMS,
  SYSTEM_SPELLINGS,
} from './code-systems.ts';
import { codeTable } from './code-table.ts';
import { moment } from './dates.ts';
import {
  canonicalJson,
  comparableText,
  isJson,
  type Json,
  objectsOf,
  rememberingLast,
  textOf,
} from './json.ts';

const SPELLINGS = codeTable(SYSTEM_SPELLINGS);

const NDC = 'http://hl7.org/fhir/sid/ndc';

const KINDS: ReadonlySet<string> = new Set(
  Object.entries(CODES_OF_KINDS).flatMap(([system, codes]) =>
    codes.map((code) => `${system}|${code}`),
  ),
);

/** Whether the system's codes state why a value is missing. */
export function isNullFlavor(system: unknown): boolean {
  const text = textOf(system) ?? '';
  return text.endsWith('v3-NullFlavor') || text.endsWith('data-absent-reason');
}

/**
 * The canonical URL of a code system, which sources give as a URL or an OID.
 */
export function codeSystem(system: unknown): string {
  const text = textOf(system) ?? '';
  return SPELLINGS[text] ?? text;
}

/**
 * The meaning of a concept, for comparison: its codes in the most preferred
 * system, otherwise its text. Only one system is used, because two concepts may
 * share a coarse code (ICD) while their fine codes (SNOMED CT) differ.
 * Undefined when the concept has neither code nor text.
 */
export const meaningOf = (concept: unknown): string | undefined =>
  isJson(concept)
    ? meaningOfOne(concept)
    : Array.isArray(concept)
      ? readMeaning(concept)
      : undefined;

const meaningOfOne = rememberingLast(readMeaning);

function readMeaning(concept: unknown): string | undefined {
  let system: string | undefined;
  let values: string[] = [];
  for (const { coding } of objectsOf(concept))
    for (const { system: spelled, code } of objectsOf(coding)) {
      const name = codeSystem(spelled);
      const value = name === NDC ? ndc(code) : textOf(code)?.trim();
      if (
        value === undefined ||
        name === '' ||
        isNullFlavor(name) ||
        KINDS.has(`${name}|${value}`)
      )
        continue;
      if (system === undefined || isPreferred(name, system))
        [system, values] = [name, [value]];
      else if (name === system && !values.includes(value)) values.push(value);
    }
  return system === undefined
    ? textMeaning(concept)
    : `${system}|${values.sort().join(',')}`;
}

/**
 * A National Drug Code in the form with 11 digits, if its segments are known:
 * `0071-0155-23` is 00071015523.
 */
function ndc(code: unknown): string | undefined {
  const text = textOf(code)?.trim();
  const segments = text?.split('-') ?? [];
  if (segments.length !== 3 || text === undefined || !/^[\d-]+$/.test(text))
    return text;
  return segments
    .map((segment, index) => segment.padStart([5, 4, 2][index] ?? 0, '0'))
    .join('');
}

/**
 * The 11 digits that 10 digits without hyphens may stand for: one zero is
 * missing, in one of the three segments.
 */
const ndcReadings = (code: string): string[] =>
  /^\d{10}$/.test(code)
    ? [
        `0${code}`,
        `${code.slice(0, 5)}0${code.slice(5)}`,
        `${code.slice(0, 9)}0${code.slice(9)}`,
      ]
    : [code];

/**
 * What a concept means in each of its code systems, by system, and in each way
 * of reading a code; empty for words and a single code.
 */
export const meaningsBySystem = rememberingLast(
  (concept): ReadonlyMap<string, readonly string[]> => {
    const bySystem = new Map<string, string[]>();
    const codings = objectsOf(concept.coding);
    // Most things have one code, and nothing else to be found by.
    if (
      codings.length < 2 &&
      codings.every(({ system }) => codeSystem(system) !== NDC)
    )
      return bySystem;
    for (const system of new Set(
      codings.map((each) => codeSystem(each.system)),
    )) {
      const meaning = meaningOf([
        {
          coding: codings.filter((each) => codeSystem(each.system) === system),
        },
      ]);
      if (meaning === undefined || meaning.startsWith('text|')) continue;
      const [, code = ''] = meaning.split('|');
      bySystem.set(
        system,
        system === NDC
          ? ndcReadings(code).map((each) => `${NDC}|${each}`)
          : [meaning],
      );
    }
    return bySystem;
  },
);

/**
 * Whether a concept is represented by its codes of this system rather than of
 * the other one.
 */
function isPreferred(name: string, other: string): boolean {
  const place = placeOf(name);
  const otherPlace = placeOf(other);
  return place === otherPlace ? name < other : place < otherPlace;
}

function placeOf(name: string): number {
  const place = PREFERRED_SYSTEMS.indexOf(name);
  return place === -1 ? PREFERRED_SYSTEMS.length : place;
}

function textMeaning(concept: unknown): string | undefined {
  const [first] = objectsOf(concept);
  const text =
    comparableText(first?.text) ??
    comparableText(objectsOf(first?.coding)[0]?.display);
  return text === undefined ? undefined : `text|${text}`;
}

/** The meanings of several concepts, sorted. */
export function meaningsOf(concepts: unknown): string[] {
  if (concepts === undefined) return [];
  return objectsOf(concepts)
    .flatMap((concept) => meaningOf(concept) ?? [])
    .sort();
}

/** The `value[x]` element of a resource, with its actual name. */
export function valueElement(
  resource: Json,
  prefix = 'value',
): { name: string; value: unknown } | undefined {
  let first: string | undefined;
  for (const name in resource)
    if (
      name.startsWith(prefix) &&
      name.length > prefix.length &&
      resource[name] != null
    )
      if (first === undefined || name < first) first = name;
  return first === undefined
    ? undefined
    : { name: first, value: resource[first] };
}

/**
 * A non-numeric `value[x]` (code, time or text) for comparison; signs such as +
 * and < are kept.
 */
export function valueMeaning(value: unknown): string {
  const text = textOf(value);
  if (text !== undefined) return moment(text) ?? text.trim().toLowerCase();
  const meaning = isJson(value) ? meaningOf(value) : undefined;
  if (meaning === undefined || meaning.startsWith('text|'))
    return canonicalJson(value).toLowerCase();
  return meaning;
}

/** Whether a resource was retracted: it was never true. */
export function isEnteredInError(resource: Json): boolean {
  return (
    resource.status === 'entered-in-error' ||
    meaningsOf(resource.verificationStatus).some((meaning) =>
      meaning.endsWith('|entered-in-error'),
    )
  );
}
