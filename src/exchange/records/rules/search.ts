import {
  type DateRange,
  EARLIEST,
  isJson,
  type Json,
  LATEST,
  objectsOf,
  rangeOf,
  textOf,
} from '#record-summary/fhir';
import { lookupTable } from '../../../lib/lookup-table.ts';
import { SEARCH_PARAMETERS } from './search-parameters.ts';

/** A FHIR search parameter, with the elements that it searches. */
interface SearchParameter {
  kind: 'token' | 'date';
  /**
   * `a.b` is the element b of the element a; lists are searched item by item.
   */
  paths: readonly string[];
}

const BY_TYPE: Readonly<
  Record<string, Readonly<Record<string, SearchParameter>>>
> = lookupTable(SEARCH_PARAMETERS);

/** The types with search parameters of their own. */
const SEARCHED_TYPES: readonly string[] = Object.keys(BY_TYPE);

const OF_ALL: Readonly<Record<string, SearchParameter>> = {
  identifier: { kind: 'token', paths: ['identifier'] },
};

/**
 * The search parameters of a type by name, without those that do not depend on
 * content (`_id`, `patient`, …).
 */
export const searchParametersOf = (
  type: string,
): Readonly<Record<string, SearchParameter>> =>
  lookupTable({ ...OF_ALL, ...BY_TYPE[type] });

export const DATE_PREFIXES = [
  'eq',
  'ne',
  'gt',
  'lt',
  'ge',
  'le',
  'sa',
  'eb',
] as const;
export type DatePrefix = (typeof DATE_PREFIXES)[number];

/** A date of a search: `ge2024-05`. */
export interface DateCondition {
  prefix: DatePrefix;
  range: DateRange;
  /**
   * Without a time, days are compared as the source wrote them, so that no time
   * zone moves a result to another day.
   */
  isDay: boolean;
}

/**
 * One of the values of a search parameter, compared with the entries of a
 * resource.
 */
export type Alternative =
  | { kind: 'equal'; entries: readonly string[] }
  | { kind: 'affixes'; start: string; end: string }
  | { kind: 'date'; start: string; condition: DateCondition };

/** A resource matches if one alternative matches one of its entries. */
export type Clause = readonly Alternative[];

/**
 * A token value: `system|code`, `code`, `|code` or `system|`. Undefined when it
 * is none of these.
 */
export function tokenAlternative(
  name: string,
  value: string,
): Alternative | undefined {
  const start = entryPrefix(name, { kind: 'token' });
  const bar = value.indexOf('|');
  if (bar < 0)
    return value === ''
      ? undefined
      : { kind: 'affixes', start, end: `|${value}` };
  const system = value.slice(0, bar);
  const code = value.slice(bar + 1);
  if (code === '')
    return system === ''
      ? undefined
      : { kind: 'affixes', start: `${start}${system}|`, end: '' };
  // The code system of an element such as `status` is fixed and not stored.
  return {
    kind: 'equal',
    entries: [`${start}${system}|${code}`, `${start}*|${code}`],
  };
}

/**
 * Parses `ge2024-05-01`; undefined when it is not a date with an optional
 * prefix.
 */
export function parseDateCondition(value: string): DateCondition | undefined {
  const prefix = DATE_PREFIXES.find((each) => value.startsWith(each));
  // In an URL, the + of a time zone is decoded to a blank.
  const text = (prefix === undefined ? value : value.slice(2)).replace(
    ' ',
    '+',
  );
  const range = rangeOf(text);
  return range && { prefix: prefix ?? 'eq', range, isDay: !text.includes('T') };
}

/**
 * The alternative for one value of a parameter; undefined when the value is
 * malformed.
 */
export function alternativeOf(
  name: string,
  parameter: SearchParameter,
  value: string,
): Alternative | undefined {
  if (parameter.kind === 'token') return tokenAlternative(name, value);
  const condition = parseDateCondition(value);
  return (
    condition && {
      kind: 'date',
      start: entryPrefix(name, parameter),
      condition,
    }
  );
}

/** Whether a resource with these entries matches all clauses. */
export const matchesAll = (
  entries: readonly string[],
  clauses: readonly Clause[],
): boolean =>
  clauses.every((clause) =>
    entries.some(
      (entry) =>
        entry === NOT_INDEXED ||
        clause.some((alternative) => matches(entry, alternative)),
    ),
  );

function matches(entry: string, alternative: Alternative): boolean {
  switch (alternative.kind) {
    case 'equal':
      return alternative.entries.includes(entry);
    case 'affixes':
      return (
        entry.startsWith(alternative.start) && entry.endsWith(alternative.end)
      );
    case 'date': {
      const { start, condition } = alternative;
      if (!entry.startsWith(start)) return false;
      const [from = '', to = '', firstDay = '', lastDay = ''] = entry
        .slice(start.length)
        .split('~');
      return matchesDate(condition, { from, to, firstDay, lastDay });
    }
  }
}

/**
 * Whether the time of a resource fulfils the condition (FHIR R4, search,
 * "prefixes").
 */
export function matchesDate(
  { prefix, range, isDay }: DateCondition,
  target: DateRange,
): boolean {
  const [low, high] = isDay
    ? [target.firstDay, target.lastDay]
    : [target.from, target.to];
  const [from, to] = isDay
    ? [range.firstDay, range.lastDay]
    : [range.from, range.to];
  const isWithin = from <= low && high <= to;
  switch (prefix) {
    case 'eq':
      return isWithin;
    case 'ne':
      return !isWithin;
    case 'gt':
      return high > to;
    case 'lt':
      return low < from;
    case 'ge':
      return high > to || isWithin;
    case 'le':
      return low < from || isWithin;
    case 'sa':
      return low > to;
    case 'eb':
      return high < from;
  }
}

/**
 * Bounds of what is stored for one delivery; what exceeds them is found by
 * reading it.
 */
const ENTRIES_MAX = 100;
const ENTRY_LENGTH_MAX = 400;
/** Stands for entries beyond the bounds: the resource may match anything. */
export const NOT_INDEXED = '*';

/**
 * What a resource can be found by, one text per value:
 * - token: `code=http://loinc.org|8480-6`; `status=*|final` for an element
 *   whose code system is fixed;
 * - date: `date@<from>~<to>~<first day>~<last day>`, in UTC and as the source
 *   wrote it.
 */
export function searchEntries(resource: Json): string[] {
  const entries = new Set<string>();
  for (const searched of SEARCHED.get(textOf(resource.resourceType) ?? '') ??
    OF_OTHERS)
    for (const path of searched.paths)
      addValues(entries, searched, resource, path, 0);
  const all = [...entries];
  const kept = all
    .filter(({ length }) => length <= ENTRY_LENGTH_MAX)
    .slice(0, ENTRIES_MAX);
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
const SEARCHED: ReadonlyMap<string, readonly Searched[]> = new Map(
  SEARCHED_TYPES.map((type) => [type, searchedIn(type)]),
);
const OF_OTHERS = searchedIn('');

/** The kind of the parameter that an entry belongs to is part of its prefix. */
const entryPrefix = (
  name: string,
  { kind }: Pick<SearchParameter, 'kind'>,
): string => (kind === 'date' ? `${name}@` : `${name}=`);

/**
 * Adds the entries of all values at a path; lists on the way are searched item
 * by item.
 */
function addValues(
  entries: Set<string>,
  searched: Searched,
  value: unknown,
  path: readonly string[],
  depth: number,
): void {
  if (value === undefined || value === null) return;
  if (Array.isArray(value)) {
    for (const item of value as unknown[])
      addValues(entries, searched, item, path, depth);
    return;
  }
  const element = path[depth];
  if (element !== undefined) {
    if (isJson(value))
      addValues(entries, searched, value[element], path, depth + 1);
  } else if (searched.kind === 'date') addDate(entries, searched.name, value);
  else addTokens(entries, searched.name, value);
}

function addTokens(entries: Set<string>, name: string, value: unknown): void {
  if (typeof value === 'boolean') entries.add(`${name}=*|${value}`);
  else if (!isJson(value)) {
    if (textOf(value) !== undefined)
      entries.add(`${name}=*|${String(value).trim()}`);
  } else if (value.coding === undefined)
    addToken(entries, name, value.system, value.code ?? value.value);
  else
    for (const { system, code } of objectsOf(value.coding))
      addToken(entries, name, system, code);
}

function addToken(
  entries: Set<string>,
  name: string,
  system: unknown,
  code: unknown,
): void {
  const text = textOf(code)?.trim();
  if (text !== undefined)
    entries.add(`${name}=${textOf(system) ?? ''}|${text}`);
}

function addDate(entries: Set<string>, name: string, value: unknown): void {
  const range = isJson(value) ? periodRange(value) : rangeOf(value);
  if (range === undefined) return;
  const { from, to, firstDay, lastDay } = range;
  entries.add(`${name}@${from}~${to}~${firstDay}~${lastDay}`);
}

/** A period without a start or end is open on that side. */
function periodRange({ start, end }: Json): DateRange | undefined {
  const first = rangeOf(start);
  const last = rangeOf(end);
  if (first === undefined && last === undefined) return undefined;
  return {
    from: first?.from ?? EARLIEST.from,
    firstDay: first?.firstDay ?? EARLIEST.firstDay,
    to: last?.to ?? LATEST.to,
    lastDay: last?.lastDay ?? LATEST.lastDay,
  };
}
