import { InvalidArgumentError } from 'commander';

/** Parser of an option that takes a whole number in a range. It throws InvalidArgumentError. */
export const wholeNumber =
  (min: number, max: number) =>
  (text: string): number => {
    const value = text.trim() === '' ? Number.NaN : Number(text);
    if (Number.isInteger(value) && value >= min && value <= max) return value;
    throw new InvalidArgumentError(`Expected a whole number from ${min} to ${max}.`);
  };

const TIMEOUT_MAX_SECONDS = 1_000_000;

/** Parses a duration in seconds; fractions are allowed. Throws InvalidArgumentError. */
export function seconds(text: string): number {
  const value = Number(text);
  if (value > 0 && value <= TIMEOUT_MAX_SECONDS) return value;
  throw new InvalidArgumentError('Expected a number of seconds greater than 0.');
}
