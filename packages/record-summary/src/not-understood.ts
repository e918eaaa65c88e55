import type { Json } from './fhir/json.ts';
import { isUnderstood, marksOf } from './fhir/modifiers.ts';
import { conceptText } from './fhir/words.ts';
import { medicationName } from './medications.ts';
import { row, type SummaryNote, type SummaryRow } from './parts.ts';
import {
  type Lookup,
  ORIGIN,
  type SummaryEntry,
  type TableRule,
} from './section.ts';

// Entries with a modifier extension that nobody here knows. FHIR forbids to
// process them as what they look like: they stand apart, with what they name.

const WHY =
  'its source changes the meaning by an extension that is not known here';

/** The name of what an entry is about, for a reader who must look it up. */
function nameOf(content: Json, lookup: Lookup): string {
  return (
    conceptText(content.code ?? content.vaccineCode ?? content.type) ??
    medicationName(content, lookup) ??
    String(content.resourceType)
  );
}

/** `Not understood: Warfarin 5 mg; its source changes …: http://…` */
export const notUnderstoodText = (content: Json, lookup: Lookup): string =>
  `Not understood: ${nameOf(content, lookup)}; ${WHY}: ${marksOf(content).notUnderstood.join(', ')}`;

/** Entries of some tables that are not understood, each once. */
export class NotUnderstood {
  readonly #rows = new Map<string, SummaryRow>();

  /** Whether the entry is understood; if not, it is kept for `table`. */
  admits(
    { content, origin }: SummaryEntry,
    { shows }: Pick<TableRule, 'shows'>,
    lookup: Lookup,
  ): boolean {
    if (isUnderstood(content)) return true;
    if (shows?.(content) !== false)
      this.#rows.set(
        `${String(content.resourceType)}/${String(content.id)}`,
        row(
          { text: nameOf(content, lookup), tone: 'alert' },
          `${WHY}: ${marksOf(content).notUnderstood.join(', ')}`,
          origin,
        ),
      );
    return false;
  }

  get rows(): readonly SummaryRow[] {
    return [...this.#rows.values()];
  }
}

export const NOT_UNDERSTOOD = {
  caption: 'Not understood, so in no other table',
  columns: [{ title: 'Entry' }, { title: 'Why' }, ORIGIN],
} satisfies Pick<TableRule, 'caption' | 'columns'>;

/** A block of the overview names so many entries that are not understood. */
const NOTES_MAX = 5;

/** What the overview notes of entries that are not understood. */
export const notUnderstoodNotes = (
  contents: readonly Json[],
  lookup: Lookup,
): SummaryNote[] => [
  ...contents.slice(0, NOTES_MAX).map((content) => ({
    text: notUnderstoodText(content, lookup),
    tone: 'alert' as const,
  })),
  ...(contents.length > NOTES_MAX
    ? [
        {
          text: `Not understood: ${contents.length - NOTES_MAX} more.`,
          tone: 'alert' as const,
        },
      ]
    : []),
];
