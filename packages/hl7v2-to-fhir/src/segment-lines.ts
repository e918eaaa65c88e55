import type { ReadingLog } from './reading-log.ts';

/** Segments whose last field may be a text of several lines. */
const WITH_TEXT: ReadonlySet<string> = new Set(['OBX', 'NTE']);

/** Segments that follow a text, and may have no field. */
const EMPTY_AFTER_TEXT =
  /^(?:ORC|OBR|OBX|NTE|SPM|SAC|PV1|PV2|TQ1|TQ2|CTI|DSC|BTS|FTS|FT1|PRT)$/;

/**
 * The segments among the lines of a message. Senders leave line breaks within a
 * text unescaped: a line that is no segment continues the text (OBX, NTE) before
 * it. After any other segment it is a stray, of which nobody knows what it is.
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
    const hasText = WITH_TEXT.has(before);
    if (isSegment(text, separator, hasText)) segments.push(text);
    else if (hasText) {
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
  if (text.charAt(3) === separator) return true;
  return (
    text.trimEnd() === name && (!isAfterText || EMPTY_AFTER_TEXT.test(name))
  );
}
