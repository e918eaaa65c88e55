// First: it counts in what is compiled after it.
import '../../test/support/steps.ts';
import {
  CALLER_TEXTS,
  type CallerText,
} from '../../test/unit/fuzz/caller-texts.ts';
import { searchGrowth } from '../../test/unit/fuzz/growth.ts';

export interface GrowthOptions {
  minutes: number;
  seed: number;
}

/**
 * Searches each language of callers for its share of the time. Sets the exit
 * code when one of them has a text that costs more than its length.
 */
export function fuzzGrowth(
  { minutes, seed }: GrowthOptions,
  print: (line: string) => void,
): void {
  const languages = Object.entries<CallerText>(CALLER_TEXTS);
  const interruptAfterTimeLimit = (minutes * 60_000) / languages.length;
  for (const [name, language] of languages)
    try {
      const numRuns = Number.MAX_SAFE_INTEGER;
      searchGrowth(language, { seed, numRuns, interruptAfterTimeLimit });
      print(`${name}: no worse than its length`);
    } catch (error) {
      process.exitCode = 1;
      const { message, cause } = error as Error;
      print(
        `${name}: ${message}\n${cause instanceof Error ? cause.message : ''}`,
      );
    }
}
