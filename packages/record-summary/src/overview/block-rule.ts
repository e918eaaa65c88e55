import { countText } from '../count-text.ts';
import { clinicalTime } from '../fhir/dates.ts';
import type { ResourceType } from '../fhir/elements.ts';
import type { Json } from '../fhir/json.ts';
import type { OverviewItem } from '../parts.ts';
import type { Lookup, SectionRule, SummaryEntry } from '../section.ts';

/**
 * A block of the overview, which is made from the resources of some types,
 * newest first by type.
 */
export interface BlockRule {
  /** The section that shows all of it. */
  section: SectionRule;
  title: string;
  types: readonly ResourceType[];
  /**
   * Shown when nothing was delivered, if the section's sentence does not fit.
   */
  empty?: string;
  /**
   * Items beyond this number are only counted. High where it would be dangerous
   * to overlook one.
   */
  itemsMax: number;
  /** What an item is, for counting: `active problem`. */
  item: readonly [one: string, many: string];
  /** It is left out when nothing was delivered. */
  isOptional?: true;
  collect: Collect;
}

export type Collect = (
  context: OverviewContext,
  itemsMax: number,
) => BlockCollector;

export interface OverviewContext {
  lookup: Lookup;
  madeAt: Date;
  /** YYYY-MM-DD */
  birthDate: string | undefined;
  /** When the person died, else `madeAt`: what was last is of before. */
  until: Date;
}

export interface BlockCollector {
  take(entry: SummaryEntry): void;
  collected(): Collected;
}

/** The resources of entries, for `OverviewItem.of`. */
export const referencesOf = (
  entries: readonly Pick<SummaryEntry, 'content'>[],
): OverviewItem['of'] =>
  entries.map(({ content: { resourceType, id } }) => ({
    resourceType: String(resourceType),
    id: String(id),
  }));

export interface Collected {
  items: OverviewItem[];
  /** The day of every item that names no other one; it stands in the title. */
  day?: string;
  /**
   * Shown when there are no items although something was delivered; undefined
   * if nothing was.
   */
  none?: string;
  /** Further remarks. */
  remarks?: readonly string[];
  /** What was delivered and is no item. */
  others: LeftOutCounts;
}

/**
 * Counts what the overview leaves out, in the order in which it was first
 * counted.
 */
export class LeftOutCounts {
  readonly #counts = new Map<string, { count: number; many: string }>();

  add(one: string, many = `${one}s`, by = 1): void {
    const { count } = this.#counts.get(one) ?? { count: 0 };
    if (by > 0) this.#counts.set(one, { count: count + by, many });
  }

  get isEmpty(): boolean {
    return this.#counts.size === 0;
  }

  texts(): string[] {
    return [...this.#counts].map(([one, { count, many }]) =>
      countText(count, one, many),
    );
  }
}

/** A day as YYYY-MM-DD. */
export const monthsBefore = (at: Date, months: number): string =>
  new Date(
    Date.UTC(at.getUTCFullYear(), at.getUTCMonth() - months, at.getUTCDate()),
  )
    .toISOString()
    .slice(0, 10);

/**
 * How many full years before the summary something was, `9 years ago`; '' for
 * what is of the last year or undated.
 *
 * @param from fewer years are not said: the day that stands beside them does
 */
export function yearsAgo(content: Json, madeAt: Date, from = 1): string {
  const { sortDate } = clinicalTime(content);
  if (sortDate === '') return '';
  const years = fullYears(sortDate, madeAt);
  return years < from ? '' : `${countText(years, 'year')} ago`;
}

/** With the precision given: of `2020`, the first day counts. */
function fullYears(sortDate: string, madeAt: Date): number {
  const begun = madeAt.getUTCFullYear() - Number(sortDate.slice(0, 4));
  return sortDate <= monthsBefore(madeAt, 12 * begun) ? begun : begun - 1;
}

const DAY_MS = 86_400_000;
const MONTH_DAYS = 30.44;

/** The same in days and months for what is newer: `12 days ago`. */
export function howLongAgo(content: Json, madeAt: Date): string {
  const years = yearsAgo(content, madeAt);
  const { sortDate } = clinicalTime(content);
  if (years !== '' || sortDate.length < 10) return years;

  const days = Math.floor((madeAt.getTime() - Date.parse(sortDate)) / DAY_MS);
  if (Number.isNaN(days) || days < 0) return '';
  return days < 2 * MONTH_DAYS
    ? `${countText(days, 'day')} ago`
    : `${countText(Math.floor(days / MONTH_DAYS), 'month')} ago`;
}

/** `16 Sep 1993 (33 years ago)` */
export const withAge = (day: string, ago: string): string =>
  ago === '' ? day : `${day} (${ago})`;

/**
 * Whether a resource is of the last year; an undated one is taken as such, so
 * that it is not overlooked.
 */
export function isOfLastYear({
  madeAt,
}: Pick<OverviewContext, 'madeAt'>): (content: Json) => boolean {
  const yearAgo = monthsBefore(madeAt, 12);
  return (content) => {
    const { sortDate } = clinicalTime(content);
    // Compared with the precision given; an undated one has none.
    return sortDate >= yearAgo.slice(0, sortDate.length);
  };
}

/**
 * What other entries say about the things that a block lists: one source has a
 * medication as active, another as stopped. Two stay two, and the overview must
 * show that there is another.
 */
export class OtherStatements {
  /** By name and state, the newest date; empty if one of them has none. */
  readonly #byName = new Map<string, Map<string, string>>();

  /**
   * @param name undefined if the entry names nothing: two of these may be about
   *   different things
   * @param state as the reader sees it: `stopped`
   */
  note(name: string | undefined, entry: SummaryEntry, state: string): void {
    if (name === undefined) return;
    const date = clinicalTime(entry.content).sortDate;
    const states =
      this.#byName.get(name.toLowerCase()) ?? new Map<string, string>();
    const known = states.get(state);
    states.set(
      state,
      known === undefined || (known !== '' && (date === '' || date > known))
        ? date
        : known,
    );
    this.#byName.set(name.toLowerCase(), states);
  }

  /**
   * The remark on a listed thing; an earlier statement does not speak against a
   * later one.
   */
  about(
    name: string | undefined,
    entries: readonly SummaryEntry[],
  ): string | undefined {
    if (name === undefined) return undefined;
    const since =
      entries
        .map(({ content }) => clinicalTime(content).sortDate)
        .sort()
        .at(-1) ?? '';
    const states = [...(this.#byName.get(name.toLowerCase()) ?? [])]
      .filter(([, date]) => !isEarlier(date, since))
      .map(([state]) => state);
    return states.length === 0
      ? undefined
      : `another entry says: ${states.join('; ')}`;
  }
}

/** Compared with the lesser precision; what has no date may be of any. */
function isEarlier(date: string, than: string): boolean {
  const length = Math.min(date.length, than.length);
  return date.slice(0, length) < than.slice(0, length);
}
