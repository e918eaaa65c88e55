import { codeTable } from './code-table.ts';
import { meaningOf } from './codes.ts';
import {
  comparableText,
  isJson,
  type Json,
  objectsOf,
  textOf,
} from './json.ts';
import { marksOf } from './modifiers.ts';
import { conceptText, referenceText, unique } from './words.ts';

/** What makes two things of one code two: an eye, a specimen, an organism. */
export interface Distinction {
  /** Equal for what is of one thing. */
  key: string;
  /** The words for it. */
  text: string;
  /** Readers expect it, so it is said only where it tells two things apart. */
  isUsual?: boolean;
}

/** Resources that say of other ones what these are about. */
export interface LinkedResources {
  /** Specimens and BodyStructures by id. */
  byId: ReadonlyMap<string, Json>;
  /**
   * By the id of an Observation: the reports and panels that contain it, and
   * the findings that it is derived from.
   */
  around: ReadonlyMap<string, readonly Json[]>;
  /** Ids of DocumentReferences that another one replaces. */
  replaced: ReadonlySet<string>;
}

export const NOT_LINKED: LinkedResources = {
  byId: new Map(),
  around: new Map(),
  replaced: new Set(),
};

/**
 * What an Observation was measured of, beside its code: body site and side,
 * position, specimen, organism (or another finding), and the method of a
 * quantity. What the name of the code says already distinguishes nothing.
 */
export function distinctionsOf(
  observation: Json,
  linked: LinkedResources,
): Distinction[] {
  const around = linked.around.get(String(observation.id)) ?? NOTHING_AROUND;
  const bracketed = bracketedIn(observation);
  // Most Observations have a code only, and each is asked several times.
  if (
    around.length === 0 &&
    !DISTINGUISHING.some((name) => name in observation)
  )
    return bracketed;
  const found = [
    ...placesIn(observation, around, linked),
    ...positionsIn(observation),
    ...specimensIn(observation, around, linked),
    ...findingsIn(around),
    ...methodsIn(observation),
  ];
  const unnamed = unsaid(found, observation);
  return bracketed.length === 0 ? unnamed : [...unnamed, ...bracketed];
}

/**
 * What a laboratory wrote after the name of its code, `Ciprofloxacin [Klebsiella]`:
 * the parent result of HL7 v2. Numbers, and LOINC's kinds of property
 * (`[Moles/volume]`), are none.
 */
function bracketedIn({ code }: Json): Distinction[] {
  const whole = isJson(code) ? textOf(code.text) : undefined;
  if (!whole?.endsWith(']') || !isJson(code)) return [];
  const [, name, text = ''] = /^(.+) \[([^\]]*)\]$/.exec(whole) ?? [];
  const isOfCode = objectsOf(code.coding).some(
    ({ display }) => textOf(display) === name,
  );
  return isOfCode && /\p{L}/u.test(text) && !PROPERTY.test(text)
    ? [{ key: `of ${comparableText(text)}`, text }]
    : [];
}

const PROPERTY =
  /\/|^(?:#|identifier|interpretation|length|mass|moles|presence|ratio|susceptibility|time|type|units|volume)/i;

/**
 * The sites of a problem or procedure as words, unless its name says them.
 */
export const unnamedSites = (resource: Json, linked: LinkedResources) =>
  unsaid(sitesOf(resource, linked), resource).map(({ text }) => text);

/** The distinctions that the name of the resource's code does not say. */
function unsaid(distinctions: Distinction[], { code }: Json): Distinction[] {
  if (distinctions.length === 0) return distinctions;
  const name = padded(conceptText(code));
  return distinctions.filter(({ text }) => !name.includes(padded(text)));
}

const NOTHING_AROUND: readonly Json[] = [];
const DISTINGUISHING = ['bodySite', 'extension', 'method', 'specimen'];

/** Words of which whole ones can be found. */
const padded = (text: string | undefined): string =>
  ` ${comparableText(text) ?? ''} `;

/** The side of a panel is that of its members. */
function placesIn(
  observation: Json,
  around: readonly Json[],
  linked: LinkedResources,
): Distinction[] {
  const own = sitesOf(observation, linked);
  if (own.length > 0) return own;
  const panel = around.find(({ hasMember }) => hasMember !== undefined);
  return panel === undefined ? [] : sitesOf(panel, linked);
}

const EXTENSIONS = 'http://hl7.org/fhir/StructureDefinition/';
/** Extensions whose reference to a BodyStructure is a body site. */
const BODY_STRUCTURE = [
  `${EXTENSIONS}bodySite`,
  `${EXTENSIONS}procedure-targetBodyStructure`,
];
const POSITION = `${EXTENSIONS}observation-bodyPosition`;

/** The body sites of a resource, each with its side. */
export function sitesOf(
  { bodySite, extension, contained }: Json,
  linked: LinkedResources,
): Distinction[] {
  const structures = [
    ...objectsOf(extension),
    ...objectsOf(bodySite).flatMap((site) => objectsOf(site.extension)),
  ].filter(({ url }) => BODY_STRUCTURE.includes(textOf(url) ?? ''));
  return [
    ...objectsOf(bodySite).map((site) => siteFrom(site, sidesIn(site))),
    ...structures.map(({ valueReference }) =>
      structureFrom(valueReference, contained, linked),
    ),
  ].flatMap((site) => site ?? []);
}

function structureFrom(
  reference: unknown,
  contained: unknown,
  linked: LinkedResources,
): Distinction | undefined {
  const structure = targetOf(reference, contained, linked);
  const location = structure?.location ?? { text: referenceText(reference) };
  const qualifiers = objectsOf(structure?.locationQualifier);
  return siteFrom(location, [location, ...qualifiers].flatMap(sidesIn));
}

function siteFrom(
  site: unknown,
  sides: readonly string[],
): Distinction | undefined {
  const name = conceptText(site) ?? '';
  const unsaid = unique(sides).filter(
    (side) => !padded(name).includes(padded(side)),
  );
  const text = unique([name, ...unsaid]).join(', ');
  if (text === '') return undefined;
  const side = unique(sides).sort().join();
  return { key: `site ${meaningOf(site) ?? ''} ${side}`, text };
}

/** Qualifiers of SNOMED CT for a side, also within an expression. */
const SIDE_CODE = /\b(?:7771000|24028007|51440002)\b/g;
const SIDES: Readonly<Record<string, string>> = codeTable({
  7771000: 'left',
  24028007: 'right',
  51440002: 'bilateral',
});
const SIDE_WORD = /\b(?:left|right|bilateral|both)\b/g;

/** The sides that a concept says: by its words, codes and extensions. */
export function sidesIn(concept: unknown): string[] {
  if (!isJson(concept)) return [];
  const codings = objectsOf(concept.coding);
  const words = [concept.text, ...codings.map(({ display }) => display)]
    .flatMap((text) => textOf(text)?.toLowerCase().match(SIDE_WORD) ?? [])
    .map((side) => (side === 'both' ? 'bilateral' : side));
  const codes = codings.flatMap(
    ({ code }) => textOf(code)?.match(SIDE_CODE) ?? [],
  );
  const qualifiers = objectsOf(concept.extension).flatMap(
    ({ valueCodeableConcept, valueCoding }) =>
      [valueCodeableConcept, { coding: [valueCoding] }].flatMap(sidesIn),
  );
  return unique([...words, ...codes.map((code) => SIDES[code]), ...qualifiers]);
}

function positionsIn({ extension }: Json): Distinction[] {
  return objectsOf(extension).flatMap(({ url, valueCodeableConcept }) => {
    const text = conceptText(valueCodeableConcept);
    return url === POSITION && text !== undefined
      ? [{ key: `position ${meaningOf(valueCodeableConcept) ?? ''}`, text }]
      : [];
  });
}

/**
 * The specimen of an observation. Where its report or panel has several, none
 * is known to be its own.
 */
function specimensIn(
  observation: Json,
  around: readonly Json[],
  linked: LinkedResources,
): Distinction[] {
  const holder = [observation, ...around].find(
    ({ specimen }) => objectsOf(specimen).length === 1,
  );
  const [reference] = objectsOf(holder?.specimen);
  const specimen = specimenFrom(reference, holder?.contained, linked);
  const target = targetOf(reference, holder?.contained, linked);
  const marked = target === undefined ? [] : marksOf(target).words;
  return [
    ...(specimen === undefined ? [] : [specimen]),
    ...marked.map((word) => ({
      key: `specimen ${word}`,
      text: `specimen ${word}`,
    })),
  ];
}

/** What blood tests are made of: a test of it says so in its name, or not. */
const BLOOD = [
  'bld',
  'blood',
  'plasma',
  'ser plas',
  'serum',
  'serum or plasma',
  'serum plasma',
  'whole blood',
];

/** The kind of specimen that a reference names, with the place it is from. */
export function specimenFrom(
  reference: unknown,
  contained: unknown,
  linked: LinkedResources,
): Distinction | undefined {
  const specimen = targetOf(reference, contained, linked);
  const type = specimen?.type ?? { text: referenceText(reference) };
  const name = conceptText(type)
    ?.replace(/ \(specimen\)$/i, '')
    .replace(/ (?:specimen|sample)$/i, '');
  if (name === undefined) return undefined;
  // Where blood was drawn does not change it.
  if (BLOOD.includes(comparableText(name) ?? ''))
    return { key: '', text: name, isUsual: true };
  const { bodySite } = isJson(specimen?.collection) ? specimen.collection : {};
  const sites = sitesOf({ bodySite }, linked);
  return {
    key: ['specimen', meaningOf(type), ...sites.map(({ key }) => key)].join(
      ' ',
    ),
    text: unique([name, ...sites.map(({ text }) => text)]).join(', '),
  };
}

/**
 * Findings with results of their own: an organism with its susceptibilities, an
 * antibody with its titer.
 */
function findingsIn(around: readonly Json[]): Distinction[] {
  return around.filter(isFinding).flatMap((finding) => {
    const { valueCodeableConcept, valueString } = finding;
    const text = conceptText(valueCodeableConcept) ?? textOf(valueString);
    const meaning = meaningOf(valueCodeableConcept) ?? comparableText(text);
    return text === undefined ? [] : [{ key: `finding ${meaning}`, text }];
  });
}

/** Whether an Observation has words or a code for its value. */
export const isFinding = ({
  resourceType,
  valueCodeableConcept,
  valueString,
}: Json): boolean =>
  resourceType === 'Observation' &&
  (valueCodeableConcept ?? valueString) !== undefined;

/** Two methods may measure on two scales, so their numbers are no course. */
function methodsIn({ method, valueQuantity }: Json): Distinction[] {
  const text = conceptText(method);
  return text === undefined || valueQuantity === undefined
    ? []
    : [{ key: `method ${meaningOf(method) ?? ''}`, text, isUsual: true }];
}

/** The resource that a reference names, if it is at hand. */
function targetOf(
  reference: unknown,
  contained: unknown,
  { byId }: LinkedResources,
): Json | undefined {
  const target = isJson(reference) ? textOf(reference.reference) : undefined;
  if (target?.startsWith('#'))
    return objectsOf(contained).find(({ id }) => id === target.slice(1));
  return byId.get(target?.slice(target.lastIndexOf('/') + 1) ?? '');
}
