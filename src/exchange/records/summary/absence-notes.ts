import { type AbsenceStatement, absencesIn } from '../rules/absence.ts';
import { dayText, firstDay } from '../rules/words.ts';
import { entryOf, type SummaryEntry } from './entry.ts';
import type { SummaryNote } from './parts.ts';
import type { RecordReader } from './record-reader.ts';
import type { SectionRule } from './section.ts';

/** Types that can state the absence of other types' resources. */
export const STATING_TYPES = ['Composition', 'List'];

/**
 * Notes for the statements of absence that sources made about a section's topic, each with its source and day. A statement
 * that the record contradicts is marked: both are shown, and the reader must find out which is right.
 */
export async function absenceNotes(
  { tables, statements }: SectionRule,
  reader: RecordReader,
  isWanted: (type: string) => boolean,
): Promise<SummaryNote[]> {
  if (statements === undefined) return [];
  const { topic, denies } = statements;
  const own = tables.flatMap(({ types }) => types);
  const types = [...new Set([...own, ...STATING_TYPES])].filter(
    (type) => isWanted(type) && (reader.counts[type] ?? 0) > 0,
  );
  if (types.length === 0) return [];
  const found = new Map<string, AbsenceStatement>();
  for await (const resource of reader.read(types)) {
    const entry = entryOf(resource);
    for (const statement of absencesIn(entry.content))
      if (statement.topic === topic) found.set(textOf(statement, entry), statement);
  }
  if (found.size === 0) return [];
  const contradicted = new Set<AbsenceStatement>();
  const claims = [...found.values()].filter(({ isUnknown }) => !isUnknown);
  if (claims.length > 0)
    for await (const resource of reader.read(own.filter((type) => types.includes(type)))) {
      const entry = entryOf(resource);
      if (absencesIn(entry.content).length > 0) continue;
      for (const claim of claims) if (denies(entry, claim)) contradicted.add(claim);
    }
  return [...found].map(([text, statement]) =>
    contradicted.has(statement)
      ? { text: `${text} This contradicts the ${topic} listed above.`, tone: 'alert' }
      : { text, tone: 'stated' },
  );
}

function textOf({ text, quote }: AbsenceStatement, { content, origin }: SummaryEntry): string {
  const day =
    firstDay(content, 'recordedDate', 'dateAsserted', 'date', 'onsetDateTime', 'effectiveDateTime') ??
    firstDay(content, 'effectivePeriod', 'onsetPeriod', 'authoredOn', 'performedDateTime') ??
    dayText(content.occurrenceDateTime);
  const words = quote === undefined ? '' : ` The source wrote: “${quote.replace(/\.$/, '')}.”`;
  return `${text} (stated by ${origin}, ${day ?? 'undated'}).${words}`;
}
