import { type DateRange, rangeOf } from './date-ranges.ts';
import { entryPrefix, NOT_INDEXED } from './search-index.ts';
import type { SearchParameter } from './search-parameters.ts';

export const DATE_PREFIXES = ['eq', 'ne', 'gt', 'lt', 'ge', 'le', 'sa', 'eb'] as const;
export type DatePrefix = (typeof DATE_PREFIXES)[number];

/** A date of a search: `ge2024-05`. */
export interface DateCondition {
  prefix: DatePrefix;
  range: DateRange;
  /** Without a time, days are compared as the source wrote them, so that no time zone moves a result to another day. */
  isDay: boolean;
}

/** One of the values of a search parameter, compared with the entries of `search-index.ts`. */
export type Alternative =
  | { kind: 'equal'; entries: readonly string[] }
  | { kind: 'affixes'; start: string; end: string }
  | { kind: 'date'; start: string; condition: DateCondition };

/** A resource matches if one alternative matches one of its entries. */
export type Clause = readonly Alternative[];

/** A token value: `system|code`, `code`, `|code` or `system|`. Undefined when it is none of these. */
export function tokenAlternative(name: string, value: string): Alternative | undefined {
  const start = entryPrefix(name, { kind: 'token' });
  const bar = value.indexOf('|');
  if (bar < 0) return value === '' ? undefined : { kind: 'affixes', start, end: `|${value}` };
  const [system, code] = [value.slice(0, bar), value.slice(bar + 1)];
  if (code === '')
    return system === '' ? undefined : { kind: 'affixes', start: `${start}${system}|`, end: '' };
  // The code system of an element such as `status` is fixed and not stored.
  return { kind: 'equal', entries: [`${start}${system}|${code}`, `${start}*|${code}`] };
}

/** Parses `ge2024-05-01`; undefined when it is not a date with an optional prefix. */
export function parseDateCondition(value: string): DateCondition | undefined {
  const prefix = DATE_PREFIXES.find((each) => value.startsWith(each));
  // In an URL, the + of a time zone is decoded to a blank.
  const text = (prefix === undefined ? value : value.slice(2)).replace(' ', '+');
  const range = rangeOf(text);
  return range && { prefix: prefix ?? 'eq', range, isDay: !text.includes('T') };
}

/** The alternative for one value of a parameter; undefined when the value is malformed. */
export function alternativeOf(
  name: string,
  parameter: SearchParameter,
  value: string,
): Alternative | undefined {
  if (parameter.kind === 'token') return tokenAlternative(name, value);
  const condition = parseDateCondition(value);
  return condition && { kind: 'date', start: entryPrefix(name, parameter), condition };
}

/** Whether a resource with these entries matches all clauses. */
export const matchesAll = (entries: readonly string[], clauses: readonly Clause[]): boolean =>
  clauses.every((clause) =>
    entries.some(
      (entry) => entry === NOT_INDEXED || clause.some((alternative) => matches(entry, alternative)),
    ),
  );

function matches(entry: string, alternative: Alternative): boolean {
  switch (alternative.kind) {
    case 'equal':
      return alternative.entries.includes(entry);
    case 'affixes':
      return entry.startsWith(alternative.start) && entry.endsWith(alternative.end);
    case 'date': {
      const { start, condition } = alternative;
      if (!entry.startsWith(start)) return false;
      const [from = '', to = '', firstDay = '', lastDay = ''] = entry.slice(start.length).split('~');
      return matchesDate(condition, { from, to, firstDay, lastDay });
    }
  }
}

/** Whether the time of a resource fulfils the condition (FHIR R4, search, "prefixes"). */
export function matchesDate({ prefix, range, isDay }: DateCondition, target: DateRange): boolean {
  const [low, high] = isDay ? [target.firstDay, target.lastDay] : [target.from, target.to];
  const [from, to] = isDay ? [range.firstDay, range.lastDay] : [range.from, range.to];
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
