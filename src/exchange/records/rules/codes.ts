import { moment } from './dates.ts';
import { canonicalJson, comparableText, isJson, type Json, objectsOf, textOf } from './json.ts';

const SPELLINGS: Readonly<Record<string, string>> = {
  'http://nucc.org/cvx': 'http://hl7.org/fhir/sid/cvx',
  'urn:oid:2.16.840.1.113883.12.292': 'http://hl7.org/fhir/sid/cvx',
  'urn:oid:2.16.840.1.113883.6.1': 'http://loinc.org',
  'urn:oid:2.16.840.1.113883.6.96': 'http://snomed.info/sct',
  'urn:oid:2.16.840.1.113883.6.88': 'http://www.nlm.nih.gov/research/umls/rxnorm',
  'urn:oid:2.16.840.1.113883.6.69': 'http://hl7.org/fhir/sid/ndc',
  'urn:oid:2.16.840.1.113883.6.90': 'http://hl7.org/fhir/sid/icd-10-cm',
  'urn:oid:2.16.840.1.113883.6.103': 'http://hl7.org/fhir/sid/icd-9-cm',
  'urn:oid:2.16.840.1.113883.6.12': 'http://www.ama-assn.org/go/cpt',
};

/** Code systems in order of preference: a concept is represented by its codes in the first of these; then any other. */
const PREFERRED = [
  'http://loinc.org',
  'http://www.nlm.nih.gov/research/umls/rxnorm',
  'http://hl7.org/fhir/sid/cvx',
  'http://snomed.info/sct',
  'http://hl7.org/fhir/sid/icd-10-cm',
  'http://www.ama-assn.org/go/cpt',
  'http://hl7.org/fhir/sid/ndc',
  'http://hl7.org/fhir/sid/icd-9-cm',
];

/** Whether the system's codes state why a value is missing. */
export function isNullFlavor(system: unknown): boolean {
  const text = textOf(system) ?? '';
  return text.endsWith('v3-NullFlavor') || text.endsWith('data-absent-reason');
}

/** The canonical URL of a code system, which sources give as a URL or an OID. */
export function codeSystem(system: unknown): string {
  const text = textOf(system) ?? '';
  return SPELLINGS[text] ?? text;
}

/**
 * The meaning of a concept, for comparison: its codes in the most preferred system, otherwise its text. Only one system is
 * used, because two concepts may share a coarse code (ICD) while their fine codes (SNOMED CT) differ. Undefined when the
 * concept has neither code nor text.
 */
export function meaningOf(concept: unknown): string | undefined {
  let system: string | undefined;
  let values: string[] = [];
  for (const { coding } of objectsOf(concept))
    for (const { system: spelled, code } of objectsOf(coding)) {
      const [name, value] = [codeSystem(spelled), textOf(code)?.trim()];
      if (value === undefined || name === '' || isNullFlavor(name)) continue;
      if (system === undefined || isPreferred(name, system)) [system, values] = [name, [value]];
      else if (name === system && !values.includes(value)) values.push(value);
    }
  return system === undefined ? textMeaning(concept) : `${system}|${values.sort().join(',')}`;
}

/** Whether a concept is represented by its codes of this system rather than of the other one. */
function isPreferred(name: string, other: string): boolean {
  const [place, otherPlace] = [placeOf(name), placeOf(other)];
  return place === otherPlace ? name < other : place < otherPlace;
}

function placeOf(name: string): number {
  const place = PREFERRED.indexOf(name);
  return place === -1 ? PREFERRED.length : place;
}

function textMeaning(concept: unknown): string | undefined {
  const [first] = objectsOf(concept);
  const text = comparableText(first?.text) ?? comparableText(objectsOf(first?.coding)[0]?.display);
  return text === undefined ? undefined : `text|${text}`;
}

/** The meanings of several concepts, sorted. */
export function meaningsOf(concepts: unknown): string[] {
  return objectsOf(concepts)
    .flatMap((concept) => meaningOf(concept) ?? [])
    .sort();
}

/** The `value[x]` element of a resource, with its actual name. */
export function valueIn(resource: Json, prefix = 'value'): { name: string; value: unknown } | undefined {
  const name = Object.keys(resource)
    .sort()
    .find((key) => key.startsWith(prefix) && key.length > prefix.length && resource[key] != null);
  return name === undefined ? undefined : { name, value: resource[name] };
}

/** A non-numeric `value[x]` (code, time or text) for comparison; signs such as + and < are kept. */
export function valueMeaning(value: unknown): string {
  const text = textOf(value);
  if (text !== undefined) return moment(text) ?? text.trim().toLowerCase();
  const meaning = isJson(value) ? meaningOf(value) : undefined;
  if (meaning === undefined || meaning.startsWith('text|')) return canonicalJson(value).toLowerCase();
  return meaning;
}
