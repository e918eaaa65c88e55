import { clinicalTime } from '../../rules/dates.ts';
import type { SummaryEntry } from '../entry.ts';

/**
 * What other entries say about the things that a block lists: one source has a medication as active, another as stopped. Two stay
 * two, and the overview must show that there is another.
 */
export class OtherStatements {
  /** By name and state, the newest date; empty if one of them has none. */
  readonly #byName = new Map<string, Map<string, string>>();

  /**
   * @param name undefined if the entry names nothing: two of these may be about different things
   * @param state as the reader sees it: `stopped`
   */
  note(name: string | undefined, entry: SummaryEntry, state: string): void {
    if (name === undefined) return;
    const date = clinicalTime(entry.content).sortDate;
    const states = this.#byName.get(name.toLowerCase()) ?? new Map<string, string>();
    const known = states.get(state);
    states.set(state, known === undefined || (known !== '' && (date === '' || date > known)) ? date : known);
    this.#byName.set(name.toLowerCase(), states);
  }

  /** The remark on a listed thing; an earlier statement does not speak against a later one. */
  about(name: string | undefined, entries: readonly SummaryEntry[]): string | undefined {
    if (name === undefined) return undefined;
    const since =
      entries
        .map(({ content }) => clinicalTime(content).sortDate)
        .sort()
        .at(-1) ?? '';
    const states = [...(this.#byName.get(name.toLowerCase()) ?? [])]
      .filter(([, date]) => !isEarlier(date, since))
      .map(([state]) => state);
    return states.length === 0 ? undefined : `another entry says: ${states.join('; ')}`;
  }
}

/** Compared with the lesser precision; what has no date may be of any. */
function isEarlier(date: string, than: string): boolean {
  const length = Math.min(date.length, than.length);
  return date.slice(0, length) < than.slice(0, length);
}
