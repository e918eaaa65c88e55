import table from './included-references.json' with { type: 'json' };

/** Elements that refer to other resources, by the name of the search parameter that `_include` uses. */
const COMMON: Readonly<Record<string, readonly string[]>> = table.common;
const BY_TYPE: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = table.byType;

/** The values of `_include` for a type, without its name. */
export const includesOf = (type: string): string[] => Object.keys({ ...COMMON, ...BY_TYPE[type] });

/** The elements that an `_include` follows; undefined when the type has no such parameter. */
export function includePaths(type: string, parameter: string): readonly string[] | undefined {
  const known: Readonly<Record<string, readonly string[]>> = { ...COMMON, ...BY_TYPE[type] };
  return Object.hasOwn(known, parameter) ? known[parameter] : undefined;
}
