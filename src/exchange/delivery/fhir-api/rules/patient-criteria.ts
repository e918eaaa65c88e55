import { type DateCondition, parseDateCondition } from '../../../records/rules/search.ts';
import {
  ALTERNATIVES_MAX,
  boundFaults,
  type PairOutcome,
  readCommonPair,
  type SearchFault,
  type SearchPair,
  type SearchRequest,
  valuesOf,
} from './search-request.ts';

/** A search for Patients by their demographics. Inner lists are alternatives. */
export interface PatientCriteria
  extends Pick<
    SearchRequest,
    'ids' | 'lastUpdated' | 'count' | 'isCountOnly' | 'subset' | 'used' | 'ignored' | 'withProvenance'
  > {
  identifiers: { system?: string; value: string }[][];
  names: { of: 'name' | 'family' | 'given'; how: 'starts' | 'exact' | 'contains'; texts: string[] }[];
  birthDates: DateCondition[][];
  genders: string[][];
}

export const PATIENT_COUNT_DEFAULT = 20;
const PATIENT_COUNT_MAX = 50;

export function parsePatientSearch(pairs: readonly SearchPair[]): {
  request: PatientCriteria;
  faults: SearchFault[];
} {
  const request: PatientCriteria = {
    lastUpdated: [],
    count: PATIENT_COUNT_DEFAULT,
    isCountOnly: false,
    used: [],
    ignored: [],
    withProvenance: false,
    identifiers: [],
    names: [],
    birthDates: [],
    genders: [],
  };
  const faults = boundFaults(pairs);
  if (faults.length > 0) return { request, faults };
  for (const pair of pairs) {
    const [name, value] = pair;
    const outcome = readCommonPair(request, name, value) ?? readPair(request, name, value);
    if (outcome === 'ignored') request.ignored.push(name);
    else if (outcome === 'used') request.used.push(pair);
    else faults.push({ parameter: name, message: outcome.fault });
  }
  request.count = Math.min(request.count, PATIENT_COUNT_MAX);
  return { request, faults };
}

const HOW = { exact: 'exact', contains: 'contains' } as const;

function readPair(request: PatientCriteria, name: string, value: string): PairOutcome {
  const [base, modifier] = name.split(':');
  const values = [...new Set(valuesOf(value))].filter((each) => each !== '');
  const isName = base === 'name' || base === 'family' || base === 'given';
  if (!isName && !['identifier', 'birthdate', 'gender', '_revinclude'].includes(base ?? '')) return 'ignored';
  if (base === '_revinclude') {
    if (value !== 'Provenance:target') return 'ignored';
    request.withProvenance = true;
    return 'used';
  }
  if (values.length === 0) return { fault: 'is empty' };
  if (values.length > ALTERNATIVES_MAX) return { fault: `has at most ${ALTERNATIVES_MAX} values` };
  if (isName) {
    if (modifier !== undefined && modifier !== 'exact' && modifier !== 'contains')
      return { fault: `the modifier :${modifier} is not supported` };
    request.names.push({ of: base, how: modifier === undefined ? 'starts' : HOW[modifier], texts: values });
    return 'used';
  }
  if (modifier !== undefined) return { fault: `the modifier :${modifier} is not supported` };
  if (base === 'gender') {
    request.genders.push(values.map((each) => each.slice(each.indexOf('|') + 1)));
    return 'used';
  }
  if (base === 'identifier') {
    request.identifiers.push(values.map(identifierOf));
    return 'used';
  }
  const conditions = values.map(parseDateCondition).filter((condition) => condition !== undefined);
  if (conditions.length < values.length || conditions.some(({ isDay }) => !isDay))
    return { fault: 'is not a date such as 1970-05-01 or ge1970' };
  request.birthDates.push(conditions);
  return 'used';
}

function identifierOf(text: string): { system?: string; value: string } {
  const bar = text.indexOf('|');
  return bar < 0 ? { value: text } : { system: text.slice(0, bar), value: text.slice(bar + 1) };
}
