import { PropertyType, type TypedValue } from '@medplum/core';
import { z } from 'zod';
import { checkDefinition } from './budget.ts';
import {
  compileExpression,
  type Expression,
  type Variables,
} from './fhirpath.ts';
import { FHIRPATH_RESULT_TYPES } from './fhirpath-language.ts';
import type { JsonObject } from './json.ts';
import { ViewError } from './view-error.ts';

/** A column of the output. */
export interface ViewColumn {
  name: string;
  /**
   * FHIR type, as the definition says or as follows from the path; undefined
   * when neither does.
   */
  type?: string;
  isCollection: boolean;
}

/** A ViewDefinition of SQL on FHIR v2, checked and compiled. */
export interface View {
  name: string;
  resource: string;
  columns: readonly ViewColumn[];
  /** Name of the column with the resource's key; undefined without one. */
  key?: string;
  /** Throws ViewError when the resource does not fit. */
  rowsOf(resource: JsonObject): unknown[][];
}

interface Select {
  /** Without: the element that the select stands in. */
  over?: {
    kind: 'forEach' | 'forEachOrNull' | 'repeat';
    paths: Expression[];
    where: string;
  };
  columns: (ViewColumn & { path: Expression })[];
  selects: Select[];
  unions: Select[];
  /**
   * The cells of all columns, those of inner selects too, where `forEachOrNull`
   * finds nothing.
   */
  absent: unknown[];
}

const COLUMNS_MAX = 200;
/** Rows of one resource, and elements that an iteration finds in it. */
const ROWS_MAX = 10_000;
const TYPES_OF_FUNCTIONS: ReadonlyMap<string, string> = new Map(
  Object.entries(FHIRPATH_RESULT_TYPES),
);
const KNOWN_TYPES: ReadonlySet<string> = new Set([
  ...Object.values(PropertyType),
  'integer64',
]);
const OVER = ['forEach', 'forEachOrNull', 'repeat'] as const;

const nameSchema = z.string().regex(/^[A-Za-z][A-Za-z0-9_]{0,62}$/, {
  error: 'must begin with a letter, and contain only letters, digits and _',
});
const columnSchema = z.object({
  name: nameSchema,
  path: z.string(),
  // Also as the address of its StructureDefinition.
  type: z
    .string()
    .transform((type) => type.split('/').at(-1) ?? '')
    .refine((type) => KNOWN_TYPES.has(type), {
      error: 'is no type of FHIR, such as string, decimal or dateTime',
    })
    .optional(),
  collection: z.boolean().optional(),
});
const selectSchema = z.object({
  column: z.array(columnSchema).optional(),
  forEach: z.string().optional(),
  forEachOrNull: z.string().optional(),
  repeat: z.array(z.string()).min(1).optional(),
  get select() {
    return z.array(selectSchema).optional();
  },
  get unionAll() {
    return z.array(selectSchema).optional();
  },
});
const viewSchema = z.object({
  name: nameSchema.default('view'),
  resource: z.string({ error: 'is required: the type of the resources' }),
  constant: z.array(z.looseObject({ name: nameSchema })).default([]),
  where: z.array(z.object({ path: z.string() })).default([]),
  select: z.array(selectSchema).default([]),
});

/**
 * Checks and compiles a definition.
 *
 * @param definition the ViewDefinition, as JSON.parse gives it
 * @param isKnown whether resources of the type can be read; without, all can
 * @throws ViewError in one sentence
 */
export function compileView(
  definition: unknown,
  isKnown: (type: string) => boolean = () => true,
): View {
  checkDefinition(definition);
  const parsed = viewSchema.safeParse(definition);
  if (!parsed.success) throw new ViewError(faultsOf(parsed.error));
  const { name, resource, constant, select, ...given } = parsed.data;
  if (!isKnown(resource))
    throw new ViewError(
      `resource: there are no resources of the type ${resource.slice(0, 40)}`,
    );
  const constants = constantsOf(constant);
  const names = Object.keys(constants);
  const where = given.where.map(({ path }, index) =>
    compileExpression(path, `where[${index}].path`, names),
  );
  const selects = select.map((each, index) =>
    compileSelect(each, `select[${index}]`, names),
  );
  const root: Select = { columns: [], selects, unions: [], absent: [] };
  const columns = columnsOf(root);
  if (columns.length === 0 || columns.length > COLUMNS_MAX)
    throw new ViewError(`select must have 1 to ${COLUMNS_MAX} columns`);
  const twice = columns.find(
    ({ name: own }, index) =>
      columns.findIndex((each) => each.name === own) < index,
  );
  if (twice !== undefined)
    throw new ViewError(`The column ${twice.name} appears twice`);
  const key = firstKey(root);
  return {
    name,
    resource,
    columns,
    key,
    rowsOf(json) {
      const focus = { type: resource, value: json };
      const variables = {
        ...constants,
        '%resource': focus,
        '%rowIndex': indexOf(0),
      };
      for (const condition of where) {
        const [met, ...others] = condition.evaluate(focus, variables);
        if (others.length > 0 || typeof (met?.value ?? false) !== 'boolean')
          throw new ViewError(
            `where: ${condition.text} does not give true or false`,
          );
        if (met?.value !== true) return [];
      }
      return rowsOf(root, focus, variables);
    },
  };
}

function constantsOf(constants: readonly JsonObject[]): Variables {
  return Object.fromEntries(
    constants.map(({ name, ...rest }, index) => {
      const [member, ...others] = Object.keys(rest).filter((each) =>
        /^value[A-Z]/.test(each),
      );
      if (member === undefined || others.length > 0)
        throw new ViewError(`constant[${index}] must have one value[x]`);
      const type = member
        .slice('value'.length)
        .replace(/^[A-Z]/, (letter) => letter.toLowerCase());
      return [`%${name}`, { type, value: rest[member] }];
    }),
  );
}

function compileSelect(
  definition: z.infer<typeof selectSchema>,
  where: string,
  constants: readonly string[],
): Select {
  const [kind, ...others] = OVER.filter(
    (each) => definition[each] !== undefined,
  );
  if (others.length > 0)
    throw new ViewError(
      `${where} has both ${kind} and ${others[0]}; a select has one of them`,
    );
  const paths = [(kind && definition[kind]) ?? []]
    .flat()
    .map((path) => compileExpression(path, `${where}.${kind}`, constants));
  const columns = (definition.column ?? []).map(
    ({ name, type, collection = false, path: text }, index) => {
      const path = compileExpression(
        text,
        `${where}.column[${index}].path`,
        constants,
      );
      return {
        name,
        type: type ?? inferredType(text),
        isCollection: collection,
        path,
      };
    },
  );
  const [selects = [], unions = []] = (['select', 'unionAll'] as const).map(
    (member) =>
      (definition[member] ?? []).map((each, index) =>
        compileSelect(each, `${where}.${member}[${index}]`, constants),
      ),
  );
  const shapes = new Set(
    unions.map((each) => String(columnsOf(each).map(({ name }) => ` ${name}`))),
  );
  if (shapes.size > 1)
    throw new ViewError(
      `${where}.unionAll: its selects have different columns:${[...shapes].join(' and')}`,
    );
  const absent = [
    ...columns.map(({ path }) => (path.text.trim() === '%rowIndex' ? 0 : null)),
    ...[...selects, ...unions.slice(0, 1)].flatMap((each) => each.absent),
  ];
  return {
    over: kind && { kind, paths, where: `${where}.${kind}` },
    columns,
    selects,
    unions,
    absent,
  };
}

/**
 * The type that follows from how the path ends (SQL on FHIR, Column Types,
 * rules 3 and 4).
 */
function inferredType(path: string): string | undefined {
  const [, name = '', of] =
    /([\w%]+)(?:\(([^()]*)\))?$/.exec(path.trim()) ?? [];
  return name === 'ofType'
    ? of?.split('.').at(-1)
    : TYPES_OF_FUNCTIONS.get(name);
}

const columnsOf = ({ columns, selects, unions }: Select): ViewColumn[] => [
  ...columns.map(({ path: _, ...column }) => column),
  ...selects.flatMap(columnsOf),
  ...(unions[0] === undefined ? [] : columnsOf(unions[0])),
];

/**
 * Only a column outside of any iteration or union has the same value in all
 * rows of a resource.
 */
function firstKey({ columns, selects, over }: Select): string | undefined {
  if (over !== undefined) return undefined;
  const own = columns.find(({ path }) =>
    /^(?:getResourceKey\(\)|id)$/.test(path.text.trim()),
  );
  return own?.name ?? selects.map(firstKey).find((name) => name !== undefined);
}

/**
 * The rows of a select: each row has the cells of its columns, in their order.
 */
function rowsOf(
  select: Select,
  focus: TypedValue,
  outer: Variables,
): unknown[][] {
  const { over, columns, selects, unions } = select;
  const foci = over === undefined ? [focus] : elementsOf(over, focus, outer);
  if (foci.length === 0 && over?.kind === 'forEachOrNull')
    return [select.absent];
  return foci.flatMap((each, index) => {
    const variables =
      over === undefined ? outer : { ...outer, '%rowIndex': indexOf(index) };
    let rows: unknown[][] = [
      columns.map((column) => cellOf(column, each, variables)),
    ];
    const factors = selects.map((inner) => rowsOf(inner, each, variables));
    if (unions.length > 0)
      factors.push(unions.flatMap((inner) => rowsOf(inner, each, variables)));
    for (const factor of factors) {
      if (rows.length * factor.length > ROWS_MAX)
        throw new ViewError(
          `A resource gives more than ${ROWS_MAX} rows; select less of it`,
        );
      rows = rows.flatMap((row) => factor.map((cells) => [...row, ...cells]));
    }
    return rows;
  });
}

function elementsOf(
  { kind, paths, where }: NonNullable<Select['over']>,
  focus: TypedValue,
  variables: Variables,
) {
  const found: TypedValue[] = [];
  const visit = (from: TypedValue, depth: number) => {
    for (const path of paths)
      for (const element of path.evaluate(from, variables)) {
        found.push(element);
        if (found.length > ROWS_MAX || depth > ROWS_MAX / 100)
          throw new ViewError(
            `${where} finds more than ${ROWS_MAX} elements in a resource, or does not end`,
          );
        if (kind === 'repeat') visit(element, depth + 1);
      }
  };
  visit(focus, 1);
  return found;
}

function cellOf(
  { name, isCollection, path }: Select['columns'][number],
  focus: TypedValue,
  variables: Variables,
): unknown {
  const values = path
    .evaluate(focus, variables)
    .flatMap(({ value }) => value ?? []);
  if (isCollection) return values;
  if (values.length > 1)
    throw new ViewError(
      `The column ${name} has several values in a resource: end its path with first(), or set collection to true`,
    );
  return values[0] ?? null;
}

const indexOf = (value: number): TypedValue => ({ type: 'integer', value });

const FAULTS_MAX = 20;

/** What a schema refuses, the first ones each with its place, in one line. */
function faultsOf({ issues }: z.ZodError): string {
  const faults = issues
    .slice(0, FAULTS_MAX)
    .map(({ path, message }) => `${z.core.toDotPath(path)}: ${message}`);
  const rest = issues.length - FAULTS_MAX;
  return [...faults, ...(rest > 0 ? [`and ${rest} more`] : [])].join('; ');
}
