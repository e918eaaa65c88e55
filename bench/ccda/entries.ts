import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { XMLParser } from 'fast-xml-parser';
import { type Json, objectsOf, textOf } from '#record-summary/fhir';
import { type Convert, documentOf } from './pairs.ts';

/**
 * What one entry states, read without the converter: the code of what it is
 * about, and further facts.
 */
interface Stated {
  codes: string[];
  facts: readonly (readonly [kind: string, value: string])[];
}
export interface EntryScore {
  documents: number;
  failed: number;
  entries: number;
  /**
   * Entries without a resource that has their code; how many of them the
   * converter counts as left out.
   */
  withoutResource: number;
  leftOut: number;
  byKind: Record<string, { facts: number; found: number }>;
}

const parser = new XMLParser({
  ignoreAttributes: false,
  removeNSPrefix: true,
  attributeNamePrefix: '@_',
  parseAttributeValue: false,
  processEntities: true,
});
const STATEMENTS = [
  'act',
  'encounter',
  'observation',
  'organizer',
  'procedure',
  'substanceAdministration',
  'supply',
];
/** Codes that say how something is stated, not what. */
const FRAME = [
  'CONC',
  'ASSERTION',
  'SEV',
  '33999-4',
  '48765-2',
  '29308-4',
  '48768-6',
  '445518008',
  '29308',
  '55607006',
  '282291009',
  '404684003',
  '64572001',
  '409586006',
  '248536006',
  '418799008',
  '373930000',
  '75326-9',
  '75321-0',
  '75322-8',
  '75323-6',
  '75325-1',
  '75319-4',
  '75318-6',
  '75312-9',
  '416098002',
  '419199007',
  '419511003',
  '418038007',
  '414285001',
  '418471000',
  '420134006',
  '235719002',
  '59037007',
];

const at = (node: unknown, ...path: string[]): readonly Json[] =>
  path.reduce<readonly Json[]>(
    (found, name) => found.flatMap((each) => objectsOf(each[name])),
    objectsOf(node),
  );
const codesOf = (nodes: readonly Json[]): string[] =>
  nodes
    .flatMap((node) => [node, ...at(node, 'translation')])
    .flatMap((node) => textOf(node['@_code']) ?? [])
    .filter((code) => !FRAME.includes(code));
const dayOf = (nodes: readonly Json[]): string[] =>
  nodes
    .flatMap((node) => textOf(node['@_value']) ?? [])
    .filter((value) => /^(?:19|20)\d{6}/.test(value))
    .map(
      (value) =>
        `${value.slice(0, 4)}-${value.slice(4, 6)}-${value.slice(6, 8)}`,
    );

function factsOf(name: string, node: Json): Stated[] {
  const times = [
    ...at(node, 'effectiveTime'),
    ...at(node, 'effectiveTime', 'low'),
  ].slice(0, 2);
  const facts: [string, string][] = dayOf(times)
    .slice(0, 1)
    .map((day) => ['date', day]);
  const dose = textOf(at(node, 'doseQuantity')[0]?.['@_value']);
  if (
    name === 'substanceAdministration' &&
    dose !== undefined &&
    Number.isFinite(Number(dose))
  )
    facts.push(['dose', String(Number(dose))]);
  for (const route of codesOf(at(node, 'routeCode')))
    facts.push(['route', route]);
  const [value] = at(node, 'value');
  const number = textOf(value?.['@_value']);
  const inner = [
    ...at(node, 'entryRelationship').flatMap((part) =>
      ['SUBJ', 'COMP', 'REFR'].includes(String(part['@_typeCode']))
        ? STATEMENTS.flatMap((kind) =>
            at(part, kind).map((each) => [kind, each] as const),
          )
        : [],
    ),
    ...at(node, 'component').flatMap((part) =>
      STATEMENTS.flatMap((kind) =>
        at(part, kind).map((each) => [kind, each] as const),
      ),
    ),
  ];
  const own = codesOf([
    ...at(
      node,
      'consumable',
      'manufacturedProduct',
      'manufacturedMaterial',
      'code',
    ),
    ...at(node, 'participant')
      .filter((part) => part['@_typeCode'] === 'CSM')
      .flatMap((part) => at(part, 'participantRole', 'playingEntity', 'code')),
  ]);
  const valued = /(?:^|:)(?:CD|CE|CO)$/.test(String(value?.['@_type']))
    ? codesOf([value ?? {}])
    : [];
  const code = codesOf(at(node, 'code'));
  const codes = own.length > 0 ? own : code.length > 0 ? code : valued;
  if (own.length === 0 && code.length > 0)
    for (const each of valued.slice(0, 1)) facts.push(['coded value', each]);
  if (
    name === 'observation' &&
    number !== undefined &&
    Number.isFinite(Number(number)) &&
    String(value?.['@_type']).endsWith('PQ')
  )
    facts.push(['value', String(Number(number))]);
  if (textOf(value?.['@_unit']) !== undefined && number !== undefined)
    facts.push(['unit', String(value?.['@_unit'])]);
  const isStated =
    codes.length > 0 &&
    node['@_nullFlavor'] === undefined &&
    !['true', '1'].includes(String(node['@_negationInd'])) &&
    !['organizer', 'act'].includes(name);
  const isConcern =
    name === 'act' || name === 'organizer' || name === 'encounter';
  return [
    ...(isStated ? [{ codes, facts }] : []),
    ...(isConcern ? inner.flatMap(([kind, each]) => factsOf(kind, each)) : []),
  ];
}

function entriesOf(xml: string): Stated[] {
  const document = at(parser.parse(xml), 'ClinicalDocument')[0];
  const sections = (of: readonly Json[]): readonly Json[] =>
    of.flatMap((each) => [each, ...sections(at(each, 'component', 'section'))]);
  return sections(
    at(document, 'component', 'structuredBody', 'component', 'section'),
  ).flatMap((section) =>
    at(section, 'entry').flatMap((entry) =>
      STATEMENTS.flatMap((kind) =>
        at(entry, kind).flatMap((node) => factsOf(kind, node)),
      ),
    ),
  );
}

/**
 * The documents of a folder: whole ones, and snippets with a document around
 * them.
 */
function* documentsIn(root: string): Generator<string> {
  for (const folder of ['jddamore+ccda-samples', 'HL7+C-CDA-Examples']) {
    const path = join(root, folder);
    if (!existsSync(path)) continue;
    for (const file of readdirSync(path, {
      recursive: true,
      encoding: 'utf8',
    }).sort()) {
      if (!/\.(?:xml|ccda?)$/i.test(file)) continue;
      const xml = readFileSync(join(path, file), 'utf8');
      if (/<(?:\w+:)?ClinicalDocument[\s>]/.test(xml.slice(0, 50_000)))
        yield xml;
      else if (
        folder.startsWith('HL7') &&
        /<entry|<observation|<act|<substance|<procedure|<organizer|<encounter/.test(
          xml,
        )
      )
        yield documentOf(xml, '').toString();
    }
  }
}

const contains: Readonly<
  Record<string, (json: string, value: string) => boolean>
> = {
  date: (json, value) => json.includes(`"${value}`),
  dose: (json, value) =>
    /"dose(?:Quantity)?":\{[^}]*"value":/.test(json) &&
    json.includes(`"value":${value}`),
  route: (json, value) => json.includes(`"code":"${value}"`),
  value: (json, value) =>
    json.includes(`"value":${value}`) ||
    json.includes(`"valueString":"${value}`),
  unit: (json, value) => json.includes(JSON.stringify(value)),
  'coded value': (json, value) =>
    json.includes(`"code":${JSON.stringify(value)}`),
};

/**
 * A second, light reading of every entry; each of its facts should be in a
 * resource that has the entry's code.
 */
export function scoreEntries(
  root: string,
  convert: Convert,
  note: (line: string) => void,
): EntryScore {
  const score: EntryScore = {
    documents: 0,
    failed: 0,
    entries: 0,
    withoutResource: 0,
    leftOut: 0,
    byKind: {},
  };
  for (const xml of documentsIn(root)) {
    score.documents += 1;
    let resources: string[];
    try {
      const conversion = convert(Buffer.from(xml));
      if (conversion.kind !== 'converted')
        throw new Error(JSON.stringify(conversion));
      resources = conversion.resources.map((each) => JSON.stringify(each));
      score.leftOut += conversion.leftOutEntries;
    } catch (error) {
      score.failed += 1;
      note(`not converted: ${String(error).slice(0, 150)}`);
      continue;
    }
    for (const { codes, facts } of entriesOf(xml)) {
      score.entries += 1;
      const own = resources.filter((json) =>
        codes.some((code) => json.includes(`"code":${JSON.stringify(code)}`)),
      );
      if (own.length === 0) {
        score.withoutResource += 1;
        note(`no resource with ${codes.join()}`);
      }
      for (const [kind, value] of facts) {
        const kindScore = score.byKind[kind] ?? { facts: 0, found: 0 };
        score.byKind[kind] = kindScore;
        kindScore.facts += 1;
        if (own.some((json) => contains[kind]?.(json, value)))
          kindScore.found += 1;
        else if (own.length > 0) note(`${kind} ${value} of ${codes.join()}`);
      }
    }
  }
  return score;
}
