import { isJson, type Json, objectsOf } from '../../rules/json.ts';
import {
  attribute,
  type CdaElement,
  type NarrativeParts,
  select,
} from './element.ts';
import type { SectionKind } from './section-kinds.ts';
import templates from './templates.json' with { type: 'json' };
import { type FhirTime, setTime } from './times.ts';
import { MAPS } from './value-maps.ts';

/** What the rows know of the document around a statement. */
export interface Scope {
  /** The day of the document, as far as it is stated. */
  day: string | undefined;
  /** The offset of the document's own time (`-05:00`). */
  offset: string | undefined;
  section: SectionKind | undefined;
  parts: readonly NarrativeParts[];
  patient: Json;
  /** The transforms that `templates.json` names. */
  transforms: Readonly<Record<string, Transform>>;
  /**
   * Takes a resource into the result, once for equal content; returns a
   * reference to it.
   */
  add: (resource: Json) => Json;
  /** What stands for an entry that others refer to, by the key of its id. */
  named: Map<string, Json>;
}

/**
 * Turns what is found at a path into the value of an element of FHIR; undefined
 * when it says nothing.
 */
export type Transform = (
  found: readonly CdaElement[],
  scope: Scope,
  argument: unknown,
  otherwise: unknown,
) => unknown;

/**
 * A path of C-CDA (see `select`), an element of FHIR (`a.b` is one within
 * another), a transform and its arguments.
 */
type Row = readonly [
  from: string,
  to: string,
  how: string,
  argument?: unknown,
  otherwise?: unknown,
];
interface Template {
  /** The page of HL7's guide "C-CDA on FHIR" that the rows follow. */
  page: string;
  /** The type of the resource if the template has another name. */
  type?: string;
  /** Without these elements it says nothing. */
  required?: readonly string[];
  rows: readonly Row[];
}
const TEMPLATES = templates as unknown as Readonly<
  Record<keyof typeof templates, Template>
>;
export type TemplateName = keyof typeof templates;

/** A time as the value of an element, whose extension goes beside it. */
export class TimeValue {
  readonly time: FhirTime;
  constructor(time: FhirTime) {
    this.time = time;
  }
}

/**
 * What a statement says by the rows of a template (`templates.json`). Of
 * several rows for one element the first that says something counts; extensions
 * are joined. Undefined when a required element is missing.
 */
export function mapped(
  name: TemplateName,
  node: CdaElement,
  scope: Scope,
): Record<string, unknown> | undefined {
  const { rows, required = [] } = TEMPLATES[name];
  const made: Record<string, unknown> = {};
  for (const [from, to, how, argument, otherwise] of rows) {
    const found = select(node, from);
    const value =
      found.length === 0
        ? undefined
        : scope.transforms[how]?.(found, scope, argument, otherwise);
    if (value === undefined || (Array.isArray(value) && value.length === 0))
      continue;
    put(made, to, value);
  }
  return required.every((element) => made[element] !== undefined)
    ? made
    : undefined;
}

/** The resource of a template. */
export function resourceOf(
  name: TemplateName,
  node: CdaElement,
  scope: Scope,
): Record<string, unknown> | undefined {
  const made = mapped(name, node, scope);
  return made && { resourceType: TEMPLATES[name].type ?? name, ...made };
}

function put(
  on: Record<string, unknown>,
  element: string,
  value: unknown,
): void {
  const dot = element.indexOf('.');
  const name = dot === -1 ? element : element.slice(0, dot);
  const known = on[name];
  if (dot !== -1) {
    on[name] = known ?? {};
    put(on[name] as Record<string, unknown>, element.slice(dot + 1), value);
  } else if (name === 'extension' && Array.isArray(known))
    known.push(...(value as unknown[]));
  else if (known !== undefined) on[name] = withName(known, value);
  else if (value instanceof TimeValue) setTime(on, name, value.time);
  else on[name] = value;
}

/**
 * A concept whose codes have no name gets the words; another one stays as it
 * is.
 */
export function withName<T>(concept: T, words: unknown): T {
  if (!isJson(concept) || !isJson(words) || !Array.isArray(concept.coding))
    return concept;
  const isNamed =
    concept.text !== undefined ||
    objectsOf(concept.coding).some(({ display }) => display);
  return isNamed || typeof words.text !== 'string'
    ? concept
    : { ...concept, text: words.text };
}

/** A key for an id of CDA. */
export const idKey = (id: CdaElement): string =>
  `${attribute(id, 'root') ?? ''}|${attribute(id, 'extension') ?? ''}`;

/** A concept of one of HL7's own code systems, or of another by its URI. */
export function conceptOf(system: string, code: string): Json {
  const uri = system.includes(':')
    ? system
    : `http://terminology.hl7.org/CodeSystem/${system}`;
  return { coding: [{ system: uri, code, display: MAPS.Display[code] }] };
}

/** The same with the code's name as its words. */
export const namedConcept = (system: string, code: string): Json => ({
  ...conceptOf(system, code),
  text: MAPS.Display[code],
});

/** FHIR's element for "required, and not stated". */
export const ABSENT: Json = {
  extension: [
    {
      url: 'http://hl7.org/fhir/StructureDefinition/data-absent-reason',
      valueCode: 'unknown',
    },
  ],
};
