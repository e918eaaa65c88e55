import { hl7Table } from './lookup-table.ts';
import type { ReadingLog } from './reading-log.ts';
import { isSegmentName } from './segment-names.ts';

/** Segments with a text of several lines, and the field that it stands in. */
const TEXT_FIELDS: Readonly<Record<string, number>> = hl7Table({
  OBX: 5,
  NTE: 3,
});

/** Segments that follow a text, and may have no field. */
const EMPTY_AFTER_TEXT =
  /^(?:ORC|OBR|OBX|NTE|SPM|SAC|PV1|PV2|TQ1|TQ2|CTI|DSC|BTS|FTS|FT1|PRT)$/;

/**
 * The segments among the lines of a message. Senders leave line breaks within a
 * text unescaped: a line that is no segment continues the text (OBX-5, NTE-3)
 * before it, if that is the last field. After any other it is a stray, of which nobody knows what it is.
 *
 * @param lines the first is MSH
 * @returns one line for each segment, and the names of those with strays
 */
export function segmentLines(
  lines: readonly string[],
  separator: string,
  log: ReadingLog,
): { segments: readonly string[]; strays: readonly string[] } {
  const segments: string[] = [];
  const strays = new Set<string>();
  for (const line of lines) {
    const text = line.trimStart();
    const before = segments.at(-1)?.slice(0, 3) ?? '';
    const field = TEXT_FIELDS[before];
    // Behind its text, a segment goes on with other fields.
    const isInText =
      field !== undefined &&
      (segments.at(-1)?.split(separator, field + 2).length ?? 0) <= field + 1;
    if (isSegment(text, separator, isInText)) segments.push(text);
    else if (isInText) {
      segments.push(`${segments.pop()}\n${line}`);
      log.remark(before === 'OBX' ? 'OBX-5' : 'NTE-3', 'repaired');
    } else strays.add(before);
  }
  return { segments, strays: [...strays] };
}

function isSegment(
  text: string,
  separator: string,
  isAfterText: boolean,
): boolean {
  const name = text.slice(0, 3);
  if (!/^[A-Z][A-Z0-9]{2}$/.test(name)) return false;
  if (text.charAt(3) === separator) return !isAfterText || isSegmentName(name);
  return (
    text.trimEnd() === name && (!isAfterText || EMPTY_AFTER_TEXT.test(name))
  );
}
