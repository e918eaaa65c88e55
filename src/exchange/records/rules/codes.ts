import { moment } from './dates.ts';
import { canonicalJson, isJson, type Json, objectsOf, plainText, textOf } from './json.ts';

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

/** Codes of the first of these systems that a concept has stand for it; then any other system. */
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

/** Codes of these systems say why there is none. */
export const saysNothing = (system: unknown): boolean =>
  /v3-NullFlavor$|data-absent-reason$/.test(textOf(system) ?? '');

/** One address for a code system, which sources name by its URL or by its OID. */
export function codeSystem(system: unknown): string {
  const text = textOf(system) ?? '';
  return SPELLINGS[text] ?? text;
}

/**
 * What a concept means, for comparing: the codes of its best known system, else its text. One system only, for two
 * concepts that share a coarse code (ICD) while their fine ones (SNOMED) differ are not the same. Undefined when it
 * says nothing.
 */
export function meaningOf(concept: unknown): string | undefined {
  const bySystem = new Map<string, Set<string>>();
  for (const { system, code } of objectsOf(concept).flatMap(({ coding }) => objectsOf(coding))) {
    const [name, value] = [codeSystem(system), textOf(code)];
    if (value === undefined || name === '' || saysNothing(name)) continue;
    bySystem.set(name, (bySystem.get(name) ?? new Set()).add(value.trim()));
  }
  const system = PREFERRED.find((name) => bySystem.has(name)) ?? [...bySystem.keys()].sort()[0];
  if (system !== undefined) return `${system}|${[...(bySystem.get(system) ?? [])].sort().join(',')}`;
  return textMeaning(concept);
}

function textMeaning(concept: unknown): string | undefined {
  const [first] = objectsOf(concept);
  const text = plainText(first?.text) ?? plainText(objectsOf(first?.coding)[0]?.display);
  return text === undefined ? undefined : `text|${text}`;
}

/** Meanings of several concepts, in an order that is always the same. */
export function meaningsOf(concepts: unknown): string[] {
  return objectsOf(concepts)
    .flatMap((concept) => meaningOf(concept) ?? [])
    .sort();
}

/** The element `value[x]` of a resource, and what it is called there. */
export function valueIn(resource: Json, prefix = 'value'): { name: string; value: unknown } | undefined {
  const name = Object.keys(resource)
    .sort()
    .find((key) => key.startsWith(prefix) && key.length > prefix.length && resource[key] != null);
  return name === undefined ? undefined : { name, value: resource[name] };
}

/** Code, time or text of an element like `value[x]` that is no number, for comparing; signs like + and < count. */
export function valueMeaning(value: unknown): string {
  const text = textOf(value);
  if (text !== undefined) return moment(text) ?? text.trim().toLowerCase();
  const meaning = isJson(value) ? meaningOf(value) : undefined;
  if (meaning === undefined || meaning.startsWith('text|')) return canonicalJson(value).toLowerCase();
  return meaning;
}
