import { isJson, type Json, objectsOf, textOf } from '../json.ts';

/** The versions of US Core whose profiles a resource may claim: today's, and the one that products are certified for. */
export const US_CORE_VERSIONS = ['8.0.0', '6.1.0'] as const;
export type UsCoreVersion = (typeof US_CORE_VERSIONS)[number];

/** What a profile demands beyond FHIR R4. */
export interface Requirement {
  /** The element, as FHIR names it. */
  element: string;
  holds: (resource: Json) => boolean;
  /** States in the profile's way that the source left the element out. Without it, the resource cannot claim the profile. */
  fill?: (resource: Json) => Json;
  /** Only this version demands it. */
  version?: UsCoreVersion;
  /** The other version demands another form, so that this is no defect of the source. */
  isOfVersion?: true;
}

export interface Profile {
  /** The last part of its address: `us-core-patient`. */
  name: string;
  type: string;
  /** Whether the profile is meant for the resource; always if absent. */
  isFor?: (resource: Json) => boolean;
  requires: readonly Requirement[];
}

/** Whether an element has content. With `[x]`, one of any type: `value[x]`. */
export function has(resource: Json, element: string): boolean {
  if (!element.endsWith('[x]')) return isSaid(resource[element]) || isSaid(resource[`_${element}`]);
  const name = element.slice(0, -3);
  const typed = new RegExp(`^_?${name}[A-Z]`);
  return Object.keys(resource).some((key) => typed.test(key) && isSaid(resource[key]));
}

const isSaid = (value: unknown): boolean =>
  value !== undefined && value !== null && !(Array.isArray(value) && value.length === 0);

export const codingsOf = (concept: unknown): Json[] =>
  objectsOf(concept).flatMap(({ coding }) => objectsOf(coding));

/** Whether a concept, or one of several, has one of the codes in the system. */
export const hasCode = (concept: unknown, system: string, codes: readonly string[]): boolean =>
  codingsOf(concept).some((coding) => coding.system === system && codes.includes(textOf(coding.code) ?? ''));

export const LOINC = 'http://loinc.org';
export const UCUM = 'http://unitsofmeasure.org';

const required = (element: string): Requirement => ({ element, holds: (resource) => has(resource, element) });
/** Elements without which the resource cannot claim a profile, because nothing could be said in their place. */
export const requiredAll = (...elements: string[]): Requirement[] => elements.map(required);

/** An element that a profile requires and for which it accepts the statement that it is unknown. */
export const orUnknown = (element: string, fill: (resource: Json) => Json): Requirement => ({
  ...required(element),
  fill,
});

const DATA_ABSENT = 'data-absent-reason';
/** An element in whose place is said that its value is unknown. */
export const unknown = (): Json => ({
  extension: [{ url: `http://hl7.org/fhir/StructureDefinition/${DATA_ABSENT}`, valueCode: 'unknown' }],
});

export const unknownConcept = (): Json => ({
  coding: [
    { system: `http://terminology.hl7.org/CodeSystem/${DATA_ABSENT}`, code: 'unknown', display: 'Unknown' },
  ],
});

/** A list in whose items the members are filled where they are missing. Primitives are filled in `_<member>`. */
export function withMembers(list: unknown, members: Readonly<Record<string, () => unknown>>): unknown[] {
  return (Array.isArray(list) ? (list as unknown[]) : [list]).map((item) => {
    if (!isJson(item)) return item;
    const missing = Object.entries(members).filter(([name]) => !has(item, name.replace(/^_/, '')));
    return { ...item, ...Object.fromEntries(missing.map(([name, make]) => [name, make()])) };
  });
}

/** Requires members of every item of a list, which may be empty: `identifier` with `system` and `value`. */
export function inEach(element: string, members: Readonly<Record<string, () => unknown>>): Requirement {
  const names = Object.keys(members).map((name) => name.replace(/^_/, ''));
  return {
    element: `${element}.${names.join(', ')}`,
    holds: (resource) => objectsOf(resource[element]).every((item) => names.every((name) => has(item, name))),
    fill: (resource) => ({ [element]: withMembers(resource[element], members) }),
  };
}
