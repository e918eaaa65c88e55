import { isJson, type Json, objectsOf } from '../../../records/rules/json.ts';
import elements from './elements.json' with { type: 'json' };

/** Which elements of its matches a search returns; undefined: all. */
export interface Subset {
  /** Elements of the type: `code`, `value` (which stands for `valueQuantity` and the others). */
  elements?: readonly string[];
  withNarrative: boolean;
}

/**
 * The elements that a subset always has: those that FHIR demands and those that change the meaning of the others, such as a
 * status. Generated from the definitions of FHIR R4; a test compares them.
 */
export const ALWAYS: Readonly<Record<string, string>> = elements.always;
/** The elements whose names say which of several types their value has: `value` is `valueQuantity`, or `valueString`. */
export const CHOICES: ReadonlySet<string> = new Set(elements.choices);
const OF_ALL = ['resourceType', 'id', 'meta', 'implicitRules', 'modifierExtension'];

const alwaysKept = (type: string): readonly string[] => [...OF_ALL, ...(ALWAYS[type] ?? '').split(' ')];

const SUBSETTED = {
  system: 'http://terminology.hl7.org/CodeSystem/v3-ObservationValue',
  code: 'SUBSETTED',
  display: 'subsetted',
};

/** The part of a resource that was asked for, marked as a part. Contained resources stay with the elements that refer to them. */
export function subsetOf(resource: Json, { elements, withNarrative }: Subset): Json {
  const kept =
    elements === undefined ? undefined : [...alwaysKept(String(resource.resourceType)), ...elements];
  const isKept = (key: string): boolean => {
    if (key === 'text') return withNarrative;
    return kept === undefined || kept.some((name) => isNamed(key.replace(/^_/, ''), name));
  };
  const part = Object.fromEntries(Object.entries(resource).filter(([key]) => isKept(key)));
  const withContained = resource.contained !== undefined && JSON.stringify(part).includes('"#');
  const meta = isJson(resource.meta) ? resource.meta : {};
  return {
    ...part,
    ...(withContained && { contained: resource.contained }),
    meta: { ...meta, tag: [...objectsOf(meta.tag), SUBSETTED] },
  };
}

const isNamed = (key: string, name: string): boolean =>
  key === name || (CHOICES.has(name) && key.startsWith(name) && /^[A-Z]/.test(key.slice(name.length)));
