import { InvalidArgumentError } from 'commander';

/** Parses a number of an option. */
export function whole(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1)
    throw new InvalidArgumentError('Expected a whole number above 0.');
  return value;
}

/** The median; of an even number of values, the upper one of the middle two. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((left, right) => left - right);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

/** Prints progress; the result alone goes to the standard output. */
export const note = (line: string): void => {
  process.stderr.write(`${line}\n`);
};

export const printJson = (result: unknown): void => {
  process.stdout.write(`${JSON.stringify(result)}\n`);
};
