import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  type CdaElement,
  childOf,
  elementsAt,
  elementsIn,
  readElements,
  words,
} from '#ccda-to-fhir';
import { recordOf, summarise } from '#record-summary';
import type { Convert } from './pairs.ts';

/** What a table of a document's words says of one thing, by our name for it. */
type Facts = Readonly<Record<string, string>>;

/** The columns of a kind of table: by the words of its head. */
interface TableKind {
  /** LOINC codes of the sections. */
  codes: readonly string[];
  /** The section of the page. */
  page: string;
  name: RegExp;
  facts: Readonly<Record<string, RegExp>>;
}

const KINDS: Readonly<Record<string, TableKind>> = {
  allergens: {
    codes: ['48765-2'],
    page: 'allergies',
    name: /substance|allergen|allerg|agent/i,
    facts: { severity: /sever/i, status: /status/i, reaction: /reaction/i },
  },
  drugs: {
    codes: ['10160-0', '10183-2', '75311-1'],
    page: 'medications',
    name: /medication|drug|name|product/i,
    facts: { directions: /direction|sig\b|instruction/i, status: /status/i },
  },
  problems: {
    codes: ['11450-4'],
    page: 'problems',
    name: /problem|condition|diagnos|name/i,
    facts: { side: /side|lateral/i, status: /status/i },
  },
  results: {
    codes: ['30954-2'],
    page: 'results',
    name: /test|component|name|lab/i,
    facts: { value: /value|^results?$/i, time: /date|time/i },
  },
};

/** How often the page and the words of the documents say the same. */
interface Score {
  rows: number;
  /** Rows of which the page shows nothing by that name. */
  missing: number;
  facts: Record<string, { agree: number; differ: number }>;
  examples: string[];
}

const EXAMPLES_MAX = 12;

/**
 * Compares what the summary's page shows with the tables of each document's own
 * words, by vendor (the folder that has the document) and kind.
 *
 * @param root folder with documents
 */
export async function scoreNarrative(
  root: string,
  convert: Convert,
): Promise<Record<string, Record<string, Score>>> {
  const byVendor: Record<string, Record<string, Score>> = {};
  const scoreOf = (vendor: string, kind: string): Score => {
    const own = byVendor[vendor] ?? {};
    byVendor[vendor] = own;
    const score = own[kind] ?? newScore();
    own[kind] = score;
    return score;
  };
  const files = readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.(?:xml|ccda?)$/i.test(file))
    .sort();
  for (const file of files) {
    const vendor = file.split('/').slice(0, 2).join('/');
    const bytes = readFileSync(join(root, file));
    const rows = await pageOf(bytes, convert);
    if (rows === undefined) continue;
    const document = readElements(bytes.toString().replace(/^\uFEFF/, ''));
    for (const [kind, table] of Object.entries(KINDS)) {
      const page = rows.get(table.page) ?? [];
      for (const said of rowsIn(document, table))
        compare(said, page, scoreOf(vendor, kind), file);
    }
  }
  return byVendor;
}

const newScore = (): Score => ({
  rows: 0,
  missing: 0,
  facts: {},
  examples: [],
});

/** The rows of the page by section, as text; undefined for what is no C-CDA. */
async function pageOf(
  bytes: Uint8Array,
  convert: Convert,
): Promise<Map<string, string[]> | undefined> {
  const conversion = await Promise.resolve()
    .then(() => convert(bytes))
    .catch(() => undefined);
  if (conversion?.kind !== 'converted') return undefined;
  const contents = [
    { resourceType: 'Patient', id: 'p' },
    ...conversion.resources.filter(
      ({ resourceType }) => resourceType !== 'Patient',
    ),
  ];
  const origins = [{ source: 'document' }];
  const record = recordOf(
    contents.map((content) => ({ content: content as never, origins })),
  );
  const rows = new Map<string, string[]>();
  let section = '';
  let group = '';
  for await (const part of summarise(record, { madeAt: new Date() })) {
    if (part.kind === 'section') section = part.id;
    if (part.kind === 'group') group = part.title;
    if (part.kind === 'table') group = '';
    if (part.kind !== 'row') continue;
    const text = part.cells.map((cell) => cell.text).join(' | ');
    rows.set(section, [...(rows.get(section) ?? []), `${text} | ${group}`]);
  }
  return rows;
}

function* rowsIn(
  document: CdaElement,
  kind: TableKind,
): Generator<{ name: string; facts: Facts }> {
  for (const section of within(document, 'section')) {
    const code = childOf(section, 'code')?.attributes.code ?? '';
    if (!kind.codes.includes(code)) continue;
    for (const table of within(childOf(section, 'text'), 'table'))
      yield* rowsOfTable(table, kind);
  }
}

function rowsOfTable(
  table: CdaElement,
  kind: TableKind,
): { name: string; facts: Facts }[] {
  const head = elementsAt(table, 'thead/tr').flatMap(elementsIn).map(textOf);
  const place = head.findIndex((title) => kind.name.test(title));
  if (place === -1) return [];
  return elementsAt(table, 'tbody/tr').flatMap((row) => {
    const cells = elementsIn(row).map(textOf);
    const name = cells[place] ?? '';
    if (cells.length !== head.length || name === '') return [];
    const facts = Object.entries(kind.facts).flatMap(([fact, title]) => {
      const at = head.findIndex(
        (each, index) => index !== place && title.test(each),
      );
      const said = cells[at] ?? '';
      return said === '' ? [] : [[fact, said] as const];
    });
    return [{ name, facts: Object.fromEntries(facts) }];
  });
}

const textOf = (cell: CdaElement): string =>
  words(cell, { parts: [] })?.replaceAll('\n', ' ') ?? '';

function within(of: CdaElement | undefined, name: string): CdaElement[] {
  return of === undefined
    ? []
    : elementsIn(of).flatMap((each) =>
        (each.name === name ? [each] : []).concat(within(each, name)),
      );
}

function compare(
  said: { name: string; facts: Facts },
  page: readonly string[],
  score: Score,
  file: string,
): void {
  score.rows += 1;
  const note = (text: string): void => {
    if (score.examples.length < EXAMPLES_MAX)
      score.examples.push(`${text} (${file})`);
  };
  const own = page.filter((row) => overlap(said.name, row) > 0.5);
  if (own.length === 0) {
    score.missing += 1;
    note(`missing: ${said.name}`);
    return;
  }
  for (const [fact, text] of Object.entries(said.facts)) {
    const counts = score.facts[fact] ?? { agree: 0, differ: 0 };
    score.facts[fact] = counts;
    const isShown = own.some((row) => overlap(text, row) > 0.5);
    if (isShown) counts.agree += 1;
    else {
      counts.differ += 1;
      note(`${fact} of ${said.name}: "${text}"; the page: ${own[0] ?? ''}`);
    }
  }
}

/** Which part of the words of a text another one has, dates in any form. */
function overlap(text: string, other: string): number {
  const own = wordsIn(text);
  const theirs = new Set(wordsIn(other));
  return own.length === 0
    ? 1
    : own.filter((word) => theirs.has(word)).length / own.length;
}

const MONTHS = 'jan feb mar apr may jun jul aug sep oct nov dec'.split(' ');

const wordsIn = (text: string): string[] =>
  text
    .toLowerCase()
    .replaceAll(
      /\b(\d{1,2})\/(\d{1,2})\/(\d{4})\b/g,
      (_, month: string, day: string, year: string) =>
        `${Number(day)} ${MONTHS[Number(month) - 1] ?? month} ${year}`,
    )
    .replaceAll(
      /\b(\d{4})-?(\d{2})-?(\d{2})\b/g,
      (_, year: string, month: string, day: string) =>
        `${Number(day)} ${MONTHS[Number(month) - 1] ?? month} ${year}`,
    )
    .replaceAll(/\b([a-z]{3})[a-z]*\b(?= \d{1,2},? \d{4})/g, '$1')
    .match(/\d+(?:\.\d+)?|[a-z]{2,}/g) ?? [];
