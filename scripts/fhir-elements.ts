import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  CLINICAL_TYPES,
  SUPPORTING_TYPES,
} from '../src/exchange/records/rules/resource-types.ts';

/**
 * Writes src/exchange/records/rules/r4/elements.json from `@types/fhir`: `npm
 * run fhir-elements`. `r4` has each element of our types as `[!]<type>[*]`
 * (`!`: required, `*`: a list; codes of a required value set as `a|b`);
 * `others` has the elements that STU3 or R5 define, and R4 does not or in
 * another form (`value`, `object`, `list`).
 */
export const ELEMENTS_FILE = fileURLToPath(
  new URL('../src/exchange/records/rules/r4/elements.json', import.meta.url),
);
type Elements = Record<string, string>;
type Types = Record<string, Elements>;

const FOLDER = dirname(
  createRequire(import.meta.url).resolve('@types/fhir/package.json'),
);
const ROOTS = [...CLINICAL_TYPES, ...SUPPORTING_TYPES].sort();
/** Everything may hold these, and `extension` of any depth. */
const IGNORED = new Set(['resourceType', 'fhir_comments']);

interface Interface {
  extended: string | undefined;
  elements: Elements;
}

function interfacesOf(version: string): Map<string, Interface> {
  const text = readFileSync(join(FOLDER, `${version}.d.ts`), 'utf8');
  const found = text.matchAll(
    /^export interface (\w+)(?: extends (\w+))? *\{\n(.*?)^\}/gms,
  );
  return new Map(
    [...found].map(([, name = '', extended, body = '']) => [
      name,
      { extended, elements: membersOf(body) },
    ]),
  );
}

function membersOf(body: string): Elements {
  const elements: Elements = {};
  for (const [, name = '', mark, type = ''] of body.matchAll(
    /^ {2}(?:readonly )?(\w+)(\?)?: (.+);$/gm,
  ))
    if (!IGNORED.has(name) && !name.startsWith('_'))
      elements[name] = `${mark === undefined ? '!' : ''}${typeText(type)}`;
  return elements;
}

/** STU3 names the type of a reference once for each target. */
function typeText(type: string): string {
  const members = type
    .replaceAll(/[()' ]/g, '')
    .split('|')
    .filter((member) => member !== 'undefined');
  const isList =
    members.some((member) => member.endsWith('[]')) || type.includes(')[]');
  const names = new Set(members.map((member) => member.replace('[]', '')));
  return `${[...names].join('|')}${isList ? '*' : ''}`;
}

/** The elements of a type and of those that it extends. */
function elementsOf(
  interfaces: Map<string, Interface>,
  type: string,
): Elements {
  const known = interfaces.get(type);
  if (known === undefined) return {};
  return {
    ...(known.extended === undefined
      ? {}
      : elementsOf(interfaces, known.extended)),
    ...known.elements,
  };
}

const bare = (spec: string): string =>
  spec.replace(/^!/, '').replace(/\*$/, '');
const isComplex = (spec: string): boolean => /^[A-Z]\w*$/.test(bare(spec));
const formOf = (spec: string): string =>
  spec.endsWith('*') ? 'list' : isComplex(spec) ? 'object' : 'value';

/** The types that are reachable from ours. */
function reachable(version: string): Types {
  const interfaces = interfacesOf(version);
  const types: Types = {};
  const waiting = [...ROOTS];
  for (let type = waiting.pop(); type !== undefined; type = waiting.pop()) {
    if (types[type] !== undefined || !interfaces.has(type)) continue;
    const elements = elementsOf(interfaces, type);
    types[type] = elements;
    waiting.push(...Object.values(elements).filter(isComplex).map(bare));
  }
  return types;
}

/**
 * What `other` has and R4 has not, by type, and by `Type.element` where the
 * element has another type there.
 */
function foreignIn(r4: Types, other: Types): Types {
  const foreign: Types = {};
  const compare = (as: string, mine: Elements, theirs: Elements): void => {
    for (const [name, spec] of Object.entries(theirs)) {
      const own = mine[name];
      // One where R4 has a list is a common slip, and its meaning is clear.
      if (
        own === `${bare(own ?? '')}*` &&
        formOf(spec) === 'object' &&
        bare(own) === bare(spec)
      )
        continue;
      if (own === undefined || formOf(own) !== formOf(spec)) {
        foreign[as] = { ...foreign[as], [name]: formOf(spec) };
        continue;
      }
      const from = r4[bare(own)];
      const to = other[bare(spec)];
      const isRetyped = isComplex(own) && bare(own) !== bare(spec);
      if (
        isRetyped &&
        from !== undefined &&
        to !== undefined &&
        !as.includes('.')
      )
        compare(`${as}.${name}`, from, to);
    }
  };
  for (const [type, theirs] of Object.entries(other)) {
    const mine = r4[type];
    if (mine !== undefined) compare(type, mine, theirs);
  }
  return foreign;
}

const sorted = (types: Types): Types =>
  Object.fromEntries(
    Object.entries(types).sort(([left], [right]) => (left < right ? -1 : 1)),
  );

export function elementsFile(): string {
  const r4 = reachable('r4');
  const others: Types = {};
  for (const version of ['r3', 'r5'])
    for (const [as, elements] of Object.entries(
      foreignIn(r4, reachable(version)),
    ))
      others[as] = { ...others[as], ...elements };
  return `${JSON.stringify({ r4: sorted(r4), others: sorted(others) }, null, 2)}\n`;
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  writeFileSync(ELEMENTS_FILE, elementsFile());
