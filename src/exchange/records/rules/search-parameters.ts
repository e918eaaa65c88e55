import table from './search-parameters.json' with { type: 'json' };

/** A FHIR search parameter of a type, with the elements that it searches. */
export interface SearchParameter {
  kind: 'token' | 'date';
  /** `a.b` is the element b of the element a; lists are searched item by item. */
  paths: readonly string[];
}

/** A parameter from its row of `search-parameters.json`: its kind and the elements, separated by blanks. */
function parameterOf(type: string, name: string, row: string): SearchParameter {
  const [kind, ...paths] = row.split(' ');
  if ((kind !== 'token' && kind !== 'date') || paths.length === 0)
    throw new Error(`search-parameters.json: ${type}.${name} is no search parameter: ${row}`);
  return { kind, paths };
}

/**
 * The search parameters of each type, as R4 and US Core define them. After a change, raise MERGE_RULES, so that every record
 * is indexed again.
 */
const BY_TYPE: Readonly<Record<string, Readonly<Record<string, SearchParameter>>>> = Object.fromEntries(
  Object.entries(table).map(([type, rows]) => [
    type,
    Object.fromEntries(Object.entries(rows).map(([name, row]) => [name, parameterOf(type, name, row)])),
  ]),
);

/** The types with search parameters of their own. */
export const SEARCHED_TYPES: readonly string[] = Object.keys(BY_TYPE);

const OF_ALL: Readonly<Record<string, SearchParameter>> = {
  identifier: { kind: 'token', paths: ['identifier'] },
};

/** The search parameters of a type by name, without those that do not depend on content (`_id`, `patient`, …). */
export const searchParametersOf = (type: string): Readonly<Record<string, SearchParameter>> => ({
  ...OF_ALL,
  ...BY_TYPE[type],
});
