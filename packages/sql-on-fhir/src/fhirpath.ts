import {
  type Atom,
  initFhirPathParserBuilder,
  Tokenizer,
  type TypedValue,
} from '@medplum/core';
import { highBoundary, lowBoundary } from './boundaries.ts';
import { checkExpression } from './budget.ts';
import {
  ALLOWED_FUNCTIONS,
  FHIRPATH_KEYWORDS,
  FHIRPATH_OPERATORS,
} from './fhirpath-language.ts';
import { isJsonObject } from './json.ts';
import { ViewError } from './view-error.ts';

/** A compiled FHIRPath expression. */
export interface Expression {
  text: string;
  evaluate(focus: TypedValue, variables: Variables): TypedValue[];
}
/** By name with `%`. */
export type Variables = Readonly<Record<string, TypedValue>>;

/** What an expression may be at most, besides its characters. */
const PARTS_MAX = 400;
const DEPTH_MAX = 20;
const ALLOWED: ReadonlySet<string> = new Set(ALLOWED_FUNCTIONS);
/** What an expression may use besides its own constants. */
const BUILT_IN = ['%resource', '%rowIndex'];

type Own = (input: TypedValue[], args: readonly Atom[]) => TypedValue[];

/**
 * The functions that the library lacks or has in part: those of SQL on FHIR,
 * the boundaries of FHIRPath 3.0, and `extension()`, which may give several.
 */
const OWN: ReadonlyMap<string, Own> = new Map(
  Object.entries<Own>({
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
          (isJsonObject(value) && Array.isArray(value.extension)
            ? value.extension
            : []) as unknown[]
        )
          .filter((each) => isJsonObject(each) && each.url === wanted?.value)
          .map((each) => ({ type: 'Extension', value: each })),
      );
    },
    lowBoundary: (input) =>
      input.flatMap(({ type, value }) => lowBoundary(type, value)),
    highBoundary: (input) =>
      input.flatMap(({ type, value }) => highBoundary(type, value)),
  }),
);

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
  checkExpression(text, where);
  const atom = parse(text, where);
  for (const part of partsOf(atom, where)) {
    const { name, args } = part as { name?: unknown; args?: Atom[] };
    if (isSign(part)) evaluateOnce(part);
    if (typeof name !== 'string') continue;
    const own = OWN.get(name);
    if (args === undefined) {
      if (/^%/.test(name) && ![...BUILT_IN, ...constants].includes(name))
        throw new ViewError(`${where}: the constant ${name} is not defined`);
      if (/^\$(?!this$)/.test(name))
        throw new ViewError(`${where}: ${name} is not available`);
      skipAbsent(part, name);
      if (/^\w/.test(name)) Object.assign(part, NO_VARIABLE);
    } else if (own !== undefined) {
      Object.assign(part, {
        eval: (_context: unknown, input: TypedValue[]) => own(input, args),
      });
    } else if (!ALLOWED.has(name)) {
      throw new ViewError(
        `${where}: the function ${name}() is not available; use one of ${[...ALLOWED, ...OWN.keys()].join(', ')}`,
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
 * The library looks for a variable of an element's name, and finds what every
 * object has: `toString`.
 */
const NO_VARIABLE = { getVariable: () => undefined };

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

/** A minus, as the library reads it: with what it stands before on both sides. */
interface Sign extends Atom {
  left: Atom;
  right: Atom;
}

const isSign = (part: object): part is Sign =>
  'left' in part && 'right' in part && part.left === part.right;

/**
 * The library evaluates both sides, and so what `n` signs stand before `2^n`
 * times.
 */
function evaluateOnce(sign: Sign): void {
  const { eval: whole, right: operand } = sign;
  sign.eval = (context, input) => {
    const values = operand.eval(context, input);
    const known = { eval: () => values };
    const negated = { ...sign, left: known, right: known };
    return whole.call(negated, context, input);
  };
}

function parse(text: string, where: string): Atom {
  try {
    const tokens = new Tokenizer(
      text,
      FHIRPATH_KEYWORDS,
      FHIRPATH_OPERATORS,
    ).tokenize();
    const parser = initFhirPathParserBuilder().construct(tokens);
    const atom = parser.consumeAndParse();
    if (!parser.hasMore()) return atom;
  } catch {
    // The same sentence for everything that is no expression.
  }
  throw new ViewError(`${where} is not a FHIRPath expression`);
}

/**
 * The nodes of the syntax tree, each once: a sign has the same one on both
 * sides. What is to the left of an operator is not nested in it, so a chain of
 * elements or a list of codes may be long.
 *
 * @throws ViewError when it has too many, or is nested too deep
 */
function partsOf(root: Atom, where: string): Iterable<object> {
  const depths = new Map<object, number>([[root, 1]]);
  // What is added while it is walked is walked too.
  for (const [part, depth] of depths) {
    if (depth > DEPTH_MAX)
      throw new ViewError(`${where} is nested deeper than ${DEPTH_MAX}`);
    for (const [name, member] of Object.entries(part)) {
      const isNested = name !== 'left' || isSign(part);
      for (const inner of [member].flat().filter(isAtom))
        if (!depths.has(inner)) depths.set(inner, isNested ? depth + 1 : depth);
    }
    if (depths.size > PARTS_MAX)
      throw new ViewError(`${where} has more than ${PARTS_MAX} parts`);
  }
  return depths.keys();
}

const isAtom = (value: unknown): value is Atom =>
  typeof value === 'object' &&
  value !== null &&
  typeof (value as Partial<Atom>).eval === 'function';
