/** The keywords of FHIRPath that are no names. */
export const FHIRPATH_KEYWORDS = ['true', 'false'];

/** Its operators of more than one character. */
export const FHIRPATH_OPERATORS = ['!=', '!~', '<=', '>=', '{}', '->'];

/**
 * The functions that an expression may use, as the library has them. None reads
 * the clock, another resource or a regular expression.
 */
export const ALLOWED_FUNCTIONS = [
  'all',
  'allTrue',
  'anyTrue',
  'allFalse',
  'anyFalse',
  'abs',
  'as',
  'ceiling',
  'contains',
  'count',
  'distinct',
  'empty',
  'endsWith',
  'exclude',
  'exists',
  'first',
  'floor',
  'hasValue',
  'iif',
  'indexOf',
  'intersect',
  'is',
  'join',
  'last',
  'length',
  'lower',
  'not',
  'ofType',
  'replace',
  'round',
  'select',
  'single',
  'skip',
  'startsWith',
  'substring',
  'tail',
  'take',
  'toBoolean',
  'toDecimal',
  'toInteger',
  'toString',
  'truncate',
  'union',
  'upper',
  'where',
] as const;

/**
 * A function, a constant or a variable. Every object has `toString`, so it can
 * be no key.
 */
type PathEnd =
  | Exclude<(typeof ALLOWED_FUNCTIONS)[number], 'toString'>
  | 'true'
  | 'false'
  | '%rowIndex';

/** The type of a column whose path ends with one of these. */
export const FHIRPATH_RESULT_TYPES = {
  exists: 'boolean',
  empty: 'boolean',
  not: 'boolean',
  hasValue: 'boolean',
  startsWith: 'boolean',
  endsWith: 'boolean',
  all: 'boolean',
  allTrue: 'boolean',
  anyTrue: 'boolean',
  allFalse: 'boolean',
  anyFalse: 'boolean',
  true: 'boolean',
  false: 'boolean',
  count: 'integer',
  length: 'integer',
  indexOf: 'integer',
  '%rowIndex': 'integer',
  toInteger: 'integer',
  toDecimal: 'decimal',
  toBoolean: 'boolean',
} satisfies Partial<Record<PathEnd, 'boolean' | 'integer' | 'decimal'>>;
