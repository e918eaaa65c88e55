import fc from 'fast-check';
import { test } from 'vitest';

type Arbitraries<T> = { [Name in keyof T]: fc.Arbitrary<T[Name]> };
type Options<T> = Pick<fc.Parameters<T>, 'numRuns' | 'seed' | 'path' | 'examples'>;
type Define<T extends unknown[]> = (name: string, rule: (...values: T) => unknown) => void;

/**
 * `property(arbitraries, parameters)(name, rule)`: a test of a rule by fast-check. `rule` gets a value of each of a list of
 * arbitraries, or one object of values for a record of them; it fails when it throws or returns false. The name shows the
 * seed, which repeats a run as `{ seed }` among the parameters. Hooks (`beforeEach`) run once for all values.
 *
 * `@fast-check/vitest` costs each process two seconds: it builds every order of vitest's modifiers.
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
  parameters: Options<unknown[]> = {},
): Define<unknown[]> {
  const arbitraries = Array.isArray(given) ? given : [fc.record(given)];
  const seed = parameters.seed ?? Math.floor(Math.random() * 2 ** 32) | 0;
  return (name, rule) =>
    test(`${name} (with seed=${seed})`, () =>
      fc.assert(
        fc.asyncProperty(
          fc.tuple(...arbitraries),
          async (values) => (await rule(...values)) as boolean | undefined,
        ),
        { ...parameters, seed, examples: parameters.examples?.map((values) => [values]) },
      ));
}
