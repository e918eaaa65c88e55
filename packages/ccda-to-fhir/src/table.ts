import type { CdaPath } from './cda-path.ts';
import {
  attribute,
  type CdaElement,
  elementsAt,
  markRead,
  type NarrativeParts,
} from './element.ts';
import { type FhirJson, fhirObjects, isFhirJson } from './json.ts';
import type { SectionKind } from './section-kinds.ts';
import type {
  MadeByTemplate,
  Mapped,
  NestedElement,
  ResourceTemplateName,
  TemplateName,
} from './template-types.ts';
import { type FhirTime, setTime } from './times.ts';
import { MAPS } from './value-maps.ts';

/** What the rows know of the document around a statement. */
export interface DocumentScope {
  /** The day of the document, as far as it is stated. */
  day: string | undefined;
  /** The offset of the document's own time (`-05:00`). */
  offset: string | undefined;
  section: SectionKind | undefined;
  parts: readonly NarrativeParts[];
  patient: FhirJson;
  templates: Templates;
  /**
   * Takes a resource into the result, once for equal content; returns a
   * reference to it.
   */
  add: (resource: FhirJson) => FhirJson;
  /** What stands for an entry that others refer to, by the key of its id. */
  named: Map<string, FhirJson>;
}

/**
 * Turns what is found at a path into the value of an element of FHIR; undefined
 * when it says nothing.
 */
export type Transform = (
  found: readonly CdaElement[],
  scope: DocumentScope,
) => unknown;

/** How a statement becomes a resource of FHIR or a part of one. */
interface Template<Type> {
  /** The page of HL7's guide "C-CDA on FHIR" that the rows follow. */
  page: string;
  /** The type of the resource if the template has another name. */
  type?: Type extends { resourceType: infer Name } ? Name : never;
  /** Without these elements it says nothing. */
  required?: readonly NestedElement<Type>[];
  rows: readonly Row<Type>[];
}

/** Where the statement says it, an element of FHIR and what is put there. */
type Row<Type> = readonly [
  from: CdaPath,
  to: NestedElement<Type>,
  transform: Transform,
];

export type Templates = {
  readonly [Name in TemplateName]: Template<MadeByTemplate[Name]>;
};

/** A time as the value of an element, whose extension goes beside it. */
export class TimeValue {
  readonly time: FhirTime;
  constructor(time: FhirTime) {
    this.time = time;
  }
}

/**
 * What a statement says by the rows of a template (`templates.ts`). Of several
 * rows for one element the first that says something counts; extensions are
 * joined. Undefined when a required element is missing.
 */
export function mapped<Name extends TemplateName>(
  name: Name,
  node: CdaElement,
  scope: DocumentScope,
): Mapped<Name> | undefined {
  const { rows, required = [] } = scope.templates[name];
  const made: Record<string, unknown> = {};
  for (const [from, to, transform] of rows) {
    if (isSaid(made[to], to)) continue;
    const found = elementsAt(node, from);
    const value = found.length === 0 ? undefined : transform(found, scope);
    if (value === undefined || (Array.isArray(value) && value.length === 0))
      continue;
    put(made, to, value);
  }
  if (!required.every((element) => made[element] !== undefined))
    return undefined;
  markRead(node);
  return made as Mapped<Name>;
}

/**
 * Whether a further row can say no more of an element: it may add an extension, or
 * the name of a concept.
 */
const isSaid = (known: unknown, element: string): boolean =>
  known !== undefined &&
  element !== 'extension' &&
  !(isFhirJson(known) && Array.isArray(known.coding) && !isNamed(known));

const isNamed = ({ text, coding }: FhirJson): boolean =>
  text !== undefined || fhirObjects(coding).some(({ display }) => display);

/** The resource of a template. */
export function templateResource<Name extends ResourceTemplateName>(
  name: Name,
  node: CdaElement,
  scope: DocumentScope,
): Mapped<Name> | undefined {
  const made = mapped(name, node, scope);
  const resourceType = scope.templates[name].type ?? name;
  return made && { resourceType, ...made };
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
  if (
    !isFhirJson(concept) ||
    !isFhirJson(words) ||
    !Array.isArray(concept.coding)
  )
    return concept;
  return isNamed(concept) || typeof words.text !== 'string'
    ? concept
    : { ...concept, text: words.text };
}

/** A key for an id of CDA. */
export const idKey = (id: CdaElement): string =>
  `${attribute(id, 'root') ?? ''}|${attribute(id, 'extension') ?? ''}`;

/** A concept of one of HL7's own code systems, or of another by its URI. */
export function codedConcept(system: string, code: string): FhirJson {
  const uri = system.includes(':')
    ? system
    : `http://terminology.hl7.org/CodeSystem/${system}`;
  return { coding: [{ system: uri, code, display: MAPS.Display[code] }] };
}

/** The same with the code's name as its words. */
export const namedConcept = (system: string, code: string): FhirJson => ({
  ...codedConcept(system, code),
  text: MAPS.Display[code],
});

/** FHIR's element for "required, and not stated". */
export const ABSENT: FhirJson = {
  extension: [
    {
      url: 'http://hl7.org/fhir/StructureDefinition/data-absent-reason',
      valueCode: 'unknown',
    },
  ],
};
