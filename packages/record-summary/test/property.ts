import fc from 'fast-check';
import { test } from 'vitest';

type Values<T> = { [Name in keyof T]: fc.Arbitrary<T[Name]> };

/**
 * `property(arbitraries, parameters)(name, rule)`: a test of a rule by
 * fast-check, which names the seed when it fails. `rule` gets a value of each
 * arbitrary; it fails when it throws or returns false.
 */
export const property =
  <T extends [unknown, ...unknown[]]>(
    arbitraries: Values<T>,
    parameters: { numRuns?: number; examples?: T[] } = {},
  ) =>
  (name: string, rule: (...values: T) => unknown): void =>
    test(name, () =>
      fc.assert(
        fc.asyncProperty(
          fc.tuple<T>(...arbitraries),
          async (values) => (await rule(...values)) as boolean | undefined,
        ),
        {
          ...parameters,
          examples: parameters.examples?.map((values): [T] => [values]),
        },
      ),
    );
