import { InvalidArgumentError } from 'commander';
import { instantIn } from './time.ts';

/**
 * Reads a date or a time of an option. Throws InvalidArgumentError for anything
 * else.
 */
export function parseInstant(text: string): Date {
  const at = instantIn(text);
  if (at !== undefined) return at;
  throw new InvalidArgumentError(
    'Expected a date such as 2026-06-01 (UTC) or a time such as 2026-06-01T02:30:00Z.',
  );
}

/**
 * A reader of a whole number from `min` to `max`. It throws
 * InvalidArgumentError.
 */
export const wholeNumber =
  (min = 0, max = Number.MAX_SAFE_INTEGER) =>
  (text: string): number => {
    const value = text.trim() === '' ? Number.NaN : Number(text);
    if (Number.isInteger(value) && value >= min && value <= max) return value;
    throw new InvalidArgumentError(
      `Expected a whole number from ${min} to ${max}.`,
    );
  };

/**
 * A reader of one of the known words, for arguments whose help lists them. It
 * throws InvalidArgumentError.
 */
export const oneOf =
  <Word extends string>(known: readonly Word[]) =>
  (text: string): Word =>
    known.find((word) => word === text.trim()) ??
    unknownWord(`Expected one of ${known.join(', ')}.`);

/** A reader of several of the known words, one call for each. */
export const severalOf =
  <Word extends string>(known: readonly Word[]) =>
  (text: string, before: readonly Word[] | undefined): readonly Word[] => [
    ...(before ?? []),
    known.find((word) => word === text.trim()) ??
      unknownWord(`Expected one or more of ${known.join(', ')}.`),
  ];

function unknownWord(message: string): never {
  throw new InvalidArgumentError(message);
}
