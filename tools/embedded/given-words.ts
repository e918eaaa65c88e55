import { EXIT_USAGE } from '../../src/lib/process.ts';

/** The words after a command. An unknown one ends the process: a misspelt option must not be passed over. */
export function givenWords<W extends string>(command: string, known: readonly W[]): ReadonlySet<W> {
  const isKnown = (word: string): word is W => (known as readonly string[]).includes(word);
  const given = process.argv.slice(2);
  const unknown = given.filter((word) => !isKnown(word));
  if (unknown.length > 0) {
    process.stderr.write(`${command}: unknown: ${unknown.join(' ')}; it takes ${known.join(' and ')}\n`);
    process.exit(EXIT_USAGE);
  }
  return new Set(given.filter(isKnown));
}
