import fc from 'fast-check';
import { test } from 'vitest';

/** Code points that are no characters, from U+D800. */
const SURROGATES = 0x800;

type Arbitraries<T> = { [Name in keyof T]: fc.Arbitrary<T[Name]> };
type Options<T> = Pick<
  fc.Parameters<T>,
  'numRuns' | 'seed' | 'path' | 'examples' | 'endOnFailure'
>;
type Define<T extends unknown[]> = (
  name: string,
  rule: (...values: T) => unknown,
) => void;

/**
 * `property(arbitraries, parameters)(name, rule)`: a test of a rule by
 * fast-check. `rule` gets a value of each of a list of arbitraries, or one
 * object of values for a record of them; it fails when it throws or returns
 * false. The name shows the seed, which repeats a run as `{ seed }` among the
 * parameters. Hooks (`beforeEach`) run once for all values.
 *
 * `@fast-check/vitest` costs each process two seconds: it builds every order of
 * vitest's modifiers.
 */
export function property<T extends [unknown, ...unknown[]]>(
  arbitraries: Arbitraries<T>,
  parameters?: Options<T>,
): Define<T>;
export function property<T extends object>(
  arbitraries: Arbitraries<T>,
  parameters?: Options<[T]>,
): Define<[T]>;
export function property(
  given: fc.Arbitrary<unknown>[] | Record<string, fc.Arbitrary<unknown>>,
  parameters?: Options<[unknown, ...unknown[]]>,
): Define<unknown[]> {
  const arbitraries = (Array.isArray(given) ? given : [fc.record(given)]) as [
    fc.Arbitrary<unknown>,
  ];
  const { named, holds } = propertyOf(
    arbitraries,
    parameters as Options<[unknown]>,
  );
  return (name, rule) => test(named(name), () => holds(rule));
}

/**
 * The same in a test that needs fixtures: `test(rule.named('…'), ({ store }) =>
 * rule.holds(async (text) => …))`.
 */
export function propertyOf<T extends [unknown, ...unknown[]]>(
  arbitraries: Arbitraries<T>,
  parameters: Options<T> = {},
) {
  const seed = parameters.seed ?? Math.floor(Math.random() * 2 ** 32) | 0;
  return {
    named: (name: string) => `${name} (with seed=${seed})`,
    holds: (rule: (...values: T) => unknown) =>
      fc.assert(
        fc.asyncProperty(
          fc.tuple<T>(...arbitraries),
          async (values) => (await rule(...values)) as boolean | undefined,
        ),
        {
          ...parameters,
          seed,
          examples: parameters.examples?.map((values): [T] => [values]),
        },
      ),
  };
}

/**
 * Any character of Unicode, as the `unit` of a text. fast-check's own `binary`
 * has the same ones, and costs each process the second in which it lists them.
 */
export const anyCharacter = fc
  .integer({ min: 0, max: 0x10_ffff - SURROGATES })
  .map(
    (number) =>
      String.fromCodePoint(number < 0xd800 ? number : number + SURROGATES),
    numberOf,
  );

function numberOf(text: unknown): number {
  const code = typeof text === 'string' ? text.codePointAt(0) : undefined;
  if (code === undefined || String.fromCodePoint(code) !== text)
    throw new Error('not a character');
  return code < 0xd800 ? code : code - SURROGATES;
}
