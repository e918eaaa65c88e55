import { isJsonObject, type JsonObject } from './json.ts';
import { ViewError } from './view-error.ts';

/** Characters of one expression, and of all in a definition. */
const EXPRESSION_MAX = 1_000;
const EXPRESSIONS_MAX = 20_000;
/** Brackets in brackets, and signs in a row. */
const NESTED_MAX = 20;
const DEFINITION_BYTES_MAX = 64_000;
/** Objects and lists in each other: some twenty selects. */
const LEVELS_MAX = 64;

const EXPRESSIONS: ReadonlySet<string> = new Set([
  'path',
  'forEach',
  'forEachOrNull',
  'repeat',
]);
const TEXTS = /'(?:[^'\\]|\\.)*'/gs;
const SIGNS = new RegExp(`(?:[-+]\\s*){${NESTED_MAX + 1}}`);
/**
 * Before two numbers in a row, which no expression has, the library looks ahead
 * to the end.
 */
const NUMBERS = /\d +\d/;

/**
 * Refuses an expression that is too much to be parsed. It looks at each
 * character a few times.
 *
 * @param where names the expression in messages
 * @throws ViewError
 */
export function checkExpression(text: string, where: string): void {
  if (text.length > EXPRESSION_MAX)
    throw new ViewError(`${where} has more than ${EXPRESSION_MAX} characters`);
  const code = text.replaceAll(TEXTS, "''");
  if (NUMBERS.test(code))
    throw new ViewError(`${where} is not a FHIRPath expression`);
  if (bracketsIn(code) > NESTED_MAX || SIGNS.test(code))
    throw new ViewError(`${where} is nested deeper than ${NESTED_MAX}`);
}

/** How many brackets are open at once at most. */
function bracketsIn(code: string): number {
  let open = 0;
  let most = 0;
  for (const [bracket] of code.matchAll(/[()[\]]/g)) {
    open += bracket === '(' || bracket === '[' ? 1 : -1;
    most = Math.max(most, open);
  }
  return most;
}

/**
 * Refuses a definition that is too much to be read, before anything parses its
 * expressions.
 *
 * @returns the definition as text
 * @throws ViewError
 */
export function checkDefinition(definition: unknown): string {
  const expressions = expressionsIn(definition, 1);
  const text = JSON.stringify(definition ?? '');
  if (Buffer.byteLength(text) > DEFINITION_BYTES_MAX)
    throw new ViewError(
      `A ViewDefinition has at most ${DEFINITION_BYTES_MAX} bytes`,
    );
  for (const { name, expression } of expressions)
    checkExpression(expression, name);
  const length = expressions.reduce(
    (sum, { expression }) => sum + expression.length,
    0,
  );
  if (length > EXPRESSIONS_MAX)
    throw new ViewError(
      `The expressions of a ViewDefinition have at most ${EXPRESSIONS_MAX} characters together`,
    );
  return text;
}

/** What may be an expression: all texts of members with such a name. */
function expressionsIn(
  node: unknown,
  level: number,
): { name: string; expression: string }[] {
  if (level > LEVELS_MAX)
    throw new ViewError('A ViewDefinition is nested too deep');
  if (Array.isArray(node))
    return node.flatMap((each) => expressionsIn(each, level + 1));
  if (!isJsonObject(node)) return [];
  return Object.entries(node as JsonObject).flatMap(([name, member]) => {
    const own = EXPRESSIONS.has(name) ? [member].flat() : [];
    const texts = own.filter((each) => typeof each === 'string');
    return [
      ...texts.map((expression) => ({ name, expression })),
      ...expressionsIn(member, level + 1),
    ];
  });
}
