import {
  type Atom,
  initFhirPathParserBuilder,
  Tokenizer,
  type TypedValue,
} from '@medplum/core';
import { isJson } from '../../../records/rules/json.ts';
import lists from './fhirpath.json' with { type: 'json' };
import { highBoundary, lowBoundary, ViewError } from './values.ts';

/** A compiled FHIRPath expression. */
export interface Expression {
  text: string;
  evaluate(focus: TypedValue, variables: Variables): TypedValue[];
}
/** By name with `%`. */
export type Variables = Readonly<Record<string, TypedValue>>;

const LENGTH_MAX = 1_000;
const ALLOWED: ReadonlySet<string> = new Set(lists.functions);
/** What an expression may use besides its own constants. */
const BUILT_IN = ['%resource', '%rowIndex'];

type Own = (input: TypedValue[], args: readonly Atom[]) => TypedValue[];

/**
 * The functions that the library lacks or has in part: those of SQL on FHIR,
 * the boundaries of FHIRPath 3.0, and `extension()`, which may give several.
 */
const OWN: Readonly<Record<string, Own>> = {
  getResourceKey: ([resource]) => textsOf('id', [resource?.value?.id]),
  getReferenceKey: (input, [type]) =>
    textsOf(
      'id',
      input.map(({ value }) => {
        const [, target, id] =
          /^([A-Za-z]+)\/([^/]+)(?:\/_history\/.*)?$/.exec(
            value?.reference ?? '',
          ) ?? [];
        return type === undefined || type.toString() === target
          ? id
          : undefined;
      }),
    ),
  extension: (input, [url]) => {
    const [wanted] = url?.eval({ variables: {} }, []) ?? [];
    return input.flatMap(({ value }) =>
      (
        (isJson(value) && Array.isArray(value.extension)
          ? value.extension
          : []) as unknown[]
      )
        .filter((each) => isJson(each) && each.url === wanted?.value)
        .map((each) => ({ type: 'Extension', value: each })),
    );
  },
  lowBoundary: (input) =>
    input.flatMap(({ type, value }) => lowBoundary(type, value)),
  highBoundary: (input) =>
    input.flatMap(({ type, value }) => highBoundary(type, value)),
};

const textsOf = (type: string, values: readonly unknown[]): TypedValue[] =>
  values
    .filter((value) => typeof value === 'string')
    .map((value) => ({ type, value }));

/**
 * Compiles an expression. Only functions of a list are allowed, none of which
 * reads the clock, another resource or a regular expression; what is left is
 * bounded by the time and memory of the thread.
 *
 * @throws ViewError in one sentence
 */
export function compileExpression(
  text: string,
  where: string,
  constants: readonly string[],
): Expression {
  if (text.length > LENGTH_MAX)
    throw new ViewError(`${where} has more than ${LENGTH_MAX} characters`);
  const atom = parse(text, where);
  for (const part of partsOf(atom)) {
    const { name, args } = part as { name?: unknown; args?: Atom[] };
    if (typeof name !== 'string') continue;
    const own = OWN[name];
    if (args === undefined) {
      if (/^%/.test(name) && ![...BUILT_IN, ...constants].includes(name))
        throw new ViewError(`${where}: the constant ${name} is not defined`);
      if (/^\$(?!this$)/.test(name))
        throw new ViewError(`${where}: ${name} is not available`);
      skipAbsent(part, name);
    } else if (own !== undefined) {
      Object.assign(part, {
        eval: (_context: unknown, input: TypedValue[]) => own(input, args),
      });
    } else if (!ALLOWED.has(name)) {
      throw new ViewError(
        `${where}: the function ${name}() is not available; use one of ${[...ALLOWED, ...Object.keys(OWN)].join(', ')}`,
      );
    }
  }
  return {
    text,
    evaluate(focus, variables) {
      try {
        return atom.eval({ variables: { ...variables, $this: focus } }, [
          focus,
        ]);
      } catch {
        // The library's message may quote the content.
        throw new ViewError(
          `${where}: the expression cannot be evaluated on a resource; see how it treats absent values`,
        );
      }
    },
  };
}

/**
 * Of an absent element the library tries the names of all types, as if it were
 * a choice. That is most of its time.
 */
function skipAbsent(
  symbol: { evalValue?(focus: TypedValue): unknown },
  name: string,
): void {
  const whole = symbol.evalValue?.bind(symbol);
  symbol.evalValue = (focus) =>
    focus.value?.resourceType === name ||
    Object.keys(focus.value ?? {}).some((key) => key.startsWith(name))
      ? whole?.(focus)
      : undefined;
}

function parse(text: string, where: string): Atom {
  try {
    const tokens = new Tokenizer(
      text,
      lists.keywords,
      lists.operators,
    ).tokenize();
    const parser = initFhirPathParserBuilder().construct(tokens);
    const atom = parser.consumeAndParse();
    if (!parser.hasMore()) return atom;
  } catch {
    // The same sentence for everything that is no expression.
  }
  throw new ViewError(`${where} is not a FHIRPath expression`);
}

/** The nodes of the syntax tree. */
function partsOf(atom: object): object[] {
  const inner = Object.values(atom).flatMap((value: unknown) =>
    Array.isArray(value) ? value : [value],
  );
  return [atom, ...inner.filter(isAtom).flatMap(partsOf)];
}

const isAtom = (value: unknown): value is Atom =>
  typeof value === 'object' &&
  value !== null &&
  typeof (value as Partial<Atom>).eval === 'function';
