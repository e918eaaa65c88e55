import { type DateRange, EARLIEST, LATEST, rangeOf } from './date-ranges.ts';
import { isJson, type Json, objectsOf, textOf } from './json.ts';
import { SEARCHED_TYPES, type SearchParameter, searchParametersOf } from './search-parameters.ts';

/** Bounds of what is stored for one delivery; what exceeds them is found by reading it. */
const ENTRIES_MAX = 100;
const ENTRY_LENGTH_MAX = 400;
/** Stands for entries beyond the bounds: the resource may match anything. */
export const NOT_INDEXED = '*';

/**
 * What a resource can be found by, one text per value:
 * - token: `code=http://loinc.org|8480-6`; `status=*|final` for an element whose code system is fixed;
 * - date: `date@<from>~<to>~<first day>~<last day>`, in UTC and as the source wrote it.
 */
export function searchEntries(resource: Json): string[] {
  const entries = new Set<string>();
  for (const searched of BY_TYPE.get(textOf(resource.resourceType) ?? '') ?? OF_OTHERS)
    for (const path of searched.paths) addValues(entries, searched, resource, path, 0);
  const all = [...entries];
  const kept = all.filter(({ length }) => length <= ENTRY_LENGTH_MAX).slice(0, ENTRIES_MAX);
  return kept.length === all.length ? kept : [...kept, NOT_INDEXED];
}

/** A search parameter with the elements that it searches, as lists of names. */
interface Searched {
  name: string;
  kind: SearchParameter['kind'];
  paths: readonly (readonly string[])[];
}

const searchedIn = (type: string): Searched[] =>
  Object.entries(searchParametersOf(type)).map(([name, { kind, paths }]) => ({
    name,
    kind,
    paths: paths.map((path) => path.split('.')),
  }));

/** Prepared once, because every resource of every source is looked through. */
const BY_TYPE: ReadonlyMap<string, readonly Searched[]> = new Map(
  SEARCHED_TYPES.map((type) => [type, searchedIn(type)]),
);
const OF_OTHERS = searchedIn('');

/** The kind of the parameter that an entry belongs to is part of its prefix. */
export const entryPrefix = (name: string, { kind }: Pick<SearchParameter, 'kind'>): string =>
  kind === 'date' ? `${name}@` : `${name}=`;

/** Adds the entries of all values at a path; lists on the way are searched item by item. */
function addValues(
  entries: Set<string>,
  searched: Searched,
  value: unknown,
  path: readonly string[],
  depth: number,
): void {
  if (value === undefined || value === null) return;
  if (Array.isArray(value)) {
    for (const item of value as unknown[]) addValues(entries, searched, item, path, depth);
    return;
  }
  const element = path[depth];
  if (element !== undefined) {
    if (isJson(value)) addValues(entries, searched, value[element], path, depth + 1);
  } else if (searched.kind === 'date') addDate(entries, searched.name, value);
  else addTokens(entries, searched.name, value);
}

function addTokens(entries: Set<string>, name: string, value: unknown): void {
  if (typeof value === 'boolean') entries.add(`${name}=*|${value}`);
  else if (!isJson(value)) {
    if (textOf(value) !== undefined) entries.add(`${name}=*|${String(value).trim()}`);
  } else if (value.coding === undefined) addToken(entries, name, value.system, value.code ?? value.value);
  else for (const { system, code } of objectsOf(value.coding)) addToken(entries, name, system, code);
}

function addToken(entries: Set<string>, name: string, system: unknown, code: unknown): void {
  const text = textOf(code)?.trim();
  if (text !== undefined) entries.add(`${name}=${textOf(system) ?? ''}|${text}`);
}

function addDate(entries: Set<string>, name: string, value: unknown): void {
  const range = isJson(value) ? periodRange(value) : rangeOf(value);
  if (range === undefined) return;
  const { from, to, firstDay, lastDay } = range;
  entries.add(`${name}@${from}~${to}~${firstDay}~${lastDay}`);
}

/** A period without a start or end is open on that side. */
function periodRange({ start, end }: Json): DateRange | undefined {
  const [first, last] = [rangeOf(start), rangeOf(end)];
  if (first === undefined && last === undefined) return undefined;
  return {
    from: first?.from ?? EARLIEST.from,
    firstDay: first?.firstDay ?? EARLIEST.firstDay,
    to: last?.to ?? LATEST.to,
    lastDay: last?.lastDay ?? LATEST.lastDay,
  };
}
