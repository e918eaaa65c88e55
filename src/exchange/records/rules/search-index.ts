import { type DateRange, EARLIEST, LATEST, rangeOf } from './date-ranges.ts';
import { isJson, type Json, objectsOf, textOf } from './json.ts';
import { type SearchParameter, searchParametersOf } from './search-parameters.ts';

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
  const parameters = searchParametersOf(textOf(resource.resourceType) ?? '');
  const entries = new Set<string>();
  for (const [name, { kind, paths }] of Object.entries(parameters)) {
    for (const value of paths.flatMap((path) => valuesAt(resource, path.split('.')))) {
      const found = kind === 'date' ? dateEntry(name, value) : tokenEntries(name, value);
      for (const entry of found) entries.add(entry);
    }
  }
  const all = [...entries];
  const kept = all.filter(({ length }) => length <= ENTRY_LENGTH_MAX).slice(0, ENTRIES_MAX);
  return kept.length === all.length ? kept : [...kept, NOT_INDEXED];
}

/** The kind of the parameter that an entry belongs to is part of its prefix. */
export const entryPrefix = (name: string, { kind }: Pick<SearchParameter, 'kind'>): string =>
  kind === 'date' ? `${name}@` : `${name}=`;

function tokenEntries(name: string, value: unknown): string[] {
  const entry = (system: unknown, code: unknown): string[] => {
    const text = textOf(code)?.trim();
    return text === undefined ? [] : [`${name}=${textOf(system) ?? ''}|${text}`];
  };
  if (typeof value === 'boolean') return [`${name}=*|${value}`];
  if (!isJson(value)) return textOf(value) === undefined ? [] : [`${name}=*|${String(value).trim()}`];
  if (value.coding !== undefined)
    return objectsOf(value.coding).flatMap(({ system, code }) => entry(system, code));
  return entry(value.system, value.code ?? value.value);
}

function dateEntry(name: string, value: unknown): string[] {
  const range = isJson(value) ? periodRange(value) : rangeOf(value);
  if (range === undefined) return [];
  const { from, to, firstDay, lastDay } = range;
  return [`${name}@${from}~${to}~${firstDay}~${lastDay}`];
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

function valuesAt(value: unknown, path: readonly string[]): unknown[] {
  if (Array.isArray(value)) return (value as unknown[]).flatMap((item) => valuesAt(item, path));
  const [name, ...rest] = path;
  if (name === undefined) return value === undefined || value === null ? [] : [value];
  return isJson(value) ? valuesAt(value[name], rest) : [];
}
