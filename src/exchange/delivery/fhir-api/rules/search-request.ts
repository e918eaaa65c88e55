import {
  isJson,
  type Json,
  objectsOf,
  rangeOf,
  textOf,
} from '#record-summary/fhir';
import { lookupTable } from '../../../../lib/lookup-table.ts';
import {
  alternativeOf,
  type Clause,
  type DateCondition,
  matchesAll,
  matchesDate,
  parseDateCondition,
  searchEntries,
  searchParametersOf,
} from '../../../records/rules/search.ts';
import {
  COMMON_REFERENCES,
  REFERENCES_OF_TYPES,
} from './included-references.ts';
import { ALWAYS_KEPT, CHOICES } from './kept-elements.ts';

/** A parameter of a search as sent: name (with modifier) and value. */
export type SearchPair = readonly [name: string, value: string];

/** A parsed search of one type. */
export interface SearchRequest {
  patientId?: string;
  ids?: string[];
  clauses: Clause[];
  lastUpdated: DateCondition[][];
  /**
   * Element paths whose targets are included, or those of one type; `*` for all
   * references.
   */
  include: { path: string; target?: string }[];
  withProvenance: boolean;
  count: number;
  sort: SearchSort;
  /** Returns the number of matches only (`_summary=count`). */
  isCountOnly: boolean;
  subset?: Subset;
  /** A further condition, of an operation that is a search. */
  keeps?(json: Json): boolean;
  /** The pairs that were understood, for the links of the Bundle. */
  used: SearchPair[];
  /** Names of parameters that were ignored. */
  ignored: string[];
}

/**
 * The order of results. Those without a date are last if it is descending, and
 * first otherwise.
 */
export interface SearchSort {
  by: 'date' | 'lastUpdated';
  isDescending: boolean;
}

/** A search that cannot be understood. */
export interface SearchFault {
  parameter: string;
  message: string;
}

const NEWEST_FIRST: SearchSort = { by: 'date', isDescending: true };
const SORTS: Readonly<Record<string, SearchSort>> = lookupTable({
  '-date': NEWEST_FIRST,
  date: { by: 'date', isDescending: false },
  '-_lastUpdated': { by: 'lastUpdated', isDescending: true },
  _lastUpdated: { by: 'lastUpdated', isDescending: false },
});
const COUNT_DEFAULT = 100;
export const COUNT_MAX = 500;
/** Bounds of one search. */
const PAIRS_MAX = 50;
const TEXT_MAX = 4_000;
/**
 * Each is a condition of its own in PostgreSQL, so many of them slow down other
 * callers.
 */
const ALTERNATIVES_MAX = 100;
/**
 * The name of an element of the resource itself; nested ones are not chosen
 * among.
 */
const ELEMENT = /^[a-z][A-Za-z]{0,63}$/;
export const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
/** Has no effect here. */
const WITHOUT_EFFECT = new Set([
  '_format=json',
  '_format=application/json',
  '_format=application/fhir+json',
  '_pretty=false',
  '_pretty=true',
  '_summary=false',
  '_total=none',
]);

/**
 * Values separated by commas; `\,` is a comma, `\|` a bar and `\$` a dollar
 * sign within a value.
 */
export const valuesOf = (text: string): string[] =>
  text
    .split(/(?<!\\),/)
    .map((value) => value.replaceAll(/\\([\\,|$])/g, '$1').trim());

/**
 * The parameters of an operation by POST, a concept as a token. Undefined when
 * the body is no Parameters resource.
 */
export function pairsOfParameters(body: unknown): SearchPair[] | undefined {
  if (!isJson(body) || body.resourceType !== 'Parameters') return undefined;
  return objectsOf(body.parameter).map((parameter): SearchPair => {
    const value = Object.entries(parameter).find(([name]) =>
      name.startsWith('value'),
    )?.[1];
    const codings = isJson(value) ? objectsOf(value.coding ?? value) : [];
    const tokens = codings.map(({ system, code, reference }) =>
      [textOf(system), textOf(reference) ?? textOf(code)]
        .filter((part) => part !== undefined)
        .join('|'),
    );
    const text = isJson(value) ? tokens.join(',') : String(value ?? '');
    return [textOf(parameter.name) ?? '', text];
  });
}

/** Parses the parameters of a search. Resolves nothing and reads nothing. */
export function parseSearch(
  type: string,
  pairs: readonly SearchPair[],
): { request: SearchRequest; faults: SearchFault[] } {
  const request: SearchRequest = {
    clauses: [],
    lastUpdated: [],
    include: [],
    withProvenance: false,
    count: COUNT_DEFAULT,
    sort: NEWEST_FIRST,
    isCountOnly: false,
    used: [],
    ignored: [],
  };
  return readPairs(request, pairs, (name, value) =>
    readPair(request, type, name, value),
  );
}

/**
 * Reads the parameters of a search one by one into `request`; `read` says what
 * became of each.
 */
export function readPairs<
  Request extends Pick<SearchRequest, 'used' | 'ignored'>,
>(
  request: Request,
  pairs: readonly SearchPair[],
  read: (name: string, value: string) => PairOutcome,
): { request: Request; faults: SearchFault[] } {
  const faults = boundFaults(pairs);
  if (faults.length > 0) return { request, faults };
  for (const pair of pairs) {
    const [name, value] = pair;
    const hasTooMany = new Set(valuesOf(value)).size > ALTERNATIVES_MAX;
    const outcome = hasTooMany
      ? { fault: `has at most ${ALTERNATIVES_MAX} values` }
      : read(name, value);
    if (outcome === 'ignored') request.ignored.push(name);
    else if (outcome === 'used') request.used.push(pair);
    else faults.push({ parameter: name, message: outcome.fault });
  }
  return { request, faults };
}

function boundFaults(pairs: readonly SearchPair[]): SearchFault[] {
  const length = pairs.reduce(
    (sum, [name, value]) => sum + name.length + value.length,
    0,
  );
  if (pairs.length > PAIRS_MAX)
    return [
      {
        parameter: '',
        message: `a search has at most ${PAIRS_MAX} parameters`,
      },
    ];
  if (length > TEXT_MAX)
    return [
      {
        parameter: '',
        message: `the parameters of a search have at most ${TEXT_MAX} characters`,
      },
    ];
  return [];
}

export type PairOutcome = 'used' | 'ignored' | { fault: string };

function readPair(
  request: SearchRequest,
  type: string,
  name: string,
  value: string,
): PairOutcome {
  const common = readCommonPair(request, name, value);
  if (common !== undefined) return common;
  switch (name) {
    case 'patient':
    case 'subject':
      return readPatient(request, value);
    case '_sort': {
      // Consents that the account recorded come before those of the record.
      const sort =
        type === 'Consent' && value !== '-date' ? undefined : SORTS[value];
      request.sort = sort ?? request.sort;
      return sort === undefined ? 'ignored' : 'used';
    }
    case '_include':
      return readInclude(request, type, value);
    default:
      return readClause(request, type, name, value);
  }
}

/** Parameters that searches of all types share, those of Patients included. */
export function readCommonPair(
  request: Pick<
    SearchRequest,
    | 'count'
    | 'ids'
    | 'lastUpdated'
    | 'isCountOnly'
    | 'subset'
    | 'withProvenance'
  >,
  name: string,
  value: string,
): PairOutcome | undefined {
  if (WITHOUT_EFFECT.has(`${name}=${value}`)) return 'used';
  const [, modifier] =
    /^(?:_id|_lastUpdated|patient|subject):(.*)/s.exec(name) ?? [];
  if (modifier !== undefined) return notSupported(modifier);
  switch (name) {
    case '_count': {
      if (!/^\d{1,9}$/.test(value))
        return { fault: 'is not a number from 0 on' };
      const count = Number(value);
      if (count === 0) request.isCountOnly = true;
      else request.count = Math.min(count, COUNT_MAX);
      return 'used';
    }
    case '_id': {
      // Other texts are ids of nothing here.
      const ids = valuesOf(value)
        .filter((id) => UUID.test(id))
        .map((id) => id.toLowerCase());
      const before = request.ids;
      request.ids =
        before === undefined ? ids : ids.filter((id) => before.includes(id));
      return 'used';
    }
    case '_summary':
      if (value === 'count') request.isCountOnly = true;
      else if (value === 'data')
        request.subset = { ...request.subset, withNarrative: false };
      else if (value === 'text')
        request.subset = { elements: [], withNarrative: true };
      else return 'ignored';
      return 'used';
    case '_elements': {
      const elements = valuesOf(value).map((name) =>
        name.replace(/^[A-Z]\w*\./, '').replace(/\[x\]$/, ''),
      );
      if (!elements.every((name) => ELEMENT.test(name)))
        return { fault: 'is not a list of elements such as code,status' };
      request.subset = { elements, withNarrative: elements.includes('text') };
      return 'used';
    }
    case '_lastUpdated': {
      const conditions = [...new Set(valuesOf(value))].map(parseDateCondition);
      if (!conditions.every((condition) => condition !== undefined))
        return {
          fault: 'is not a date such as ge2026-05-01 or gt2026-05-01T12:00:00Z',
        };
      request.lastUpdated.push(conditions);
      return 'used';
    }
    case '_revinclude':
      if (value !== 'Provenance:target') return 'ignored';
      request.withProvenance = true;
      return 'used';
    default:
      return undefined;
  }
}

/**
 * FHIR: a modifier must not be ignored, because the result would be another
 * one.
 */
export const notSupported = (modifier: string) => ({
  fault: `the modifier :${modifier} is not supported`,
});

function readPatient(request: SearchRequest, value: string): PairOutcome {
  const id = value.replace(/^Patient\//, '').toLowerCase();
  if (!UUID.test(id)) return { fault: 'is not the id of one Patient' };
  if (request.patientId !== undefined && request.patientId !== id)
    return { fault: 'names another Patient; one search is about one Patient' };
  request.patientId = id;
  return 'used';
}

function readInclude(
  request: SearchRequest,
  type: string,
  value: string,
): PairOutcome {
  const [of, parameter = '', target] = value.split(':');
  const paths =
    value === '*'
      ? ['*']
      : of === type
        ? includesOf(type)[parameter]
        : undefined;
  if (paths === undefined) return 'ignored';
  request.include.push(...paths.map((path) => ({ path, target })));
  return 'used';
}

function readClause(
  request: SearchRequest,
  type: string,
  name: string,
  value: string,
): PairOutcome {
  const [base = '', modifier] = name.split(':');
  const parameter = searchParametersOf(type)[base];
  if (parameter === undefined) return 'ignored';
  if (modifier !== undefined) return notSupported(modifier);
  const values = [...new Set(valuesOf(value))];
  const alternatives = values.map((each) =>
    alternativeOf(base, parameter, each),
  );
  if (alternatives.every((alternative) => alternative !== undefined)) {
    request.clauses.push(alternatives);
    return 'used';
  }
  return {
    fault:
      parameter.kind === 'date'
        ? 'is not a date such as ge2026-05-01'
        : 'is not a code such as system|code',
  };
}

export type Found = { id: string; json: Json; changedAt: Date };

/** Whether a resource matches the search, apart from its patient. */
export function matchesSearch(
  { id, json, changedAt }: Found,
  { clauses, lastUpdated, ids }: SearchRequest,
): boolean {
  const changed = rangeOf(changedAt.toISOString());
  return (
    (ids === undefined || ids.includes(id)) &&
    matchesAll(searchEntries(json), clauses) &&
    lastUpdated.every((conditions) =>
      conditions.some(
        (condition) => changed !== undefined && matchesDate(condition, changed),
      ),
    )
  );
}

const COMMON = lookupTable(COMMON_REFERENCES);
const BY_TYPE: Readonly<
  Record<string, Readonly<Record<string, readonly string[]>>>
> = lookupTable(REFERENCES_OF_TYPES);

/**
 * The elements that an `_include` of a type follows, by its value without the
 * type.
 */
export const includesOf = (
  type: string,
): Readonly<Record<string, readonly string[]>> =>
  lookupTable({ ...COMMON, ...BY_TYPE[type] });

/** Which elements of its matches a search returns; undefined: all. */
export interface Subset {
  /**
   * Elements of the type: `code`, `value` (which stands for `valueQuantity` and
   * the others).
   */
  elements?: readonly string[];
  withNarrative: boolean;
}

const KEPT: Readonly<Record<string, readonly string[]>> =
  lookupTable(ALWAYS_KEPT);
const OF_ALL = [
  'resourceType',
  'id',
  'meta',
  'implicitRules',
  'modifierExtension',
];

const alwaysKept = (type: string): readonly string[] => [
  ...OF_ALL,
  ...(KEPT[type] ?? []),
];

const SUBSETTED = {
  system: 'http://terminology.hl7.org/CodeSystem/v3-ObservationValue',
  code: 'SUBSETTED',
  display: 'subsetted',
};

/**
 * The part of a resource that was asked for, marked as a part. Contained
 * resources stay with the elements that refer to them.
 */
export function subsetOf(
  resource: Json,
  { elements, withNarrative }: Subset,
): Json {
  const kept =
    elements === undefined
      ? undefined
      : [...alwaysKept(String(resource.resourceType)), ...elements];
  const isKept = (key: string): boolean => {
    if (key === 'text') return withNarrative;
    return (
      kept === undefined ||
      kept.some((name) => isNamed(key.replace(/^_/, ''), name))
    );
  };
  const part = Object.fromEntries(
    Object.entries(resource).filter(([key]) => isKept(key)),
  );
  const withContained =
    resource.contained !== undefined && JSON.stringify(part).includes('"#');
  const meta = isJson(resource.meta) ? resource.meta : {};
  return {
    ...part,
    ...(withContained && { contained: resource.contained }),
    meta: { ...meta, tag: [...objectsOf(meta.tag), SUBSETTED] },
  };
}

const isNamed = (key: string, name: string): boolean =>
  key === name ||
  (CHOICES.has(name) &&
    key.startsWith(name) &&
    /^[A-Z]/.test(key.slice(name.length)));
