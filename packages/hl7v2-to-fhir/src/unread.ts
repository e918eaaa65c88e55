import type { ReadingLog } from './reading-log.ts';
import type { Separators } from './separators.ts';

/**
 * The header's separators, encoding and version, and the numbers of segments
 * and of note lines say nothing more.
 */
export const FORMAL =
  /^(?:MSH-(?:1|2|5|6|8|9|11|12|15|16|17|18|19|20|21)|(?!RXD|EVN|MSA)[A-Z0-9]{3}-1)$/;

const UNREAD_MAX = 500;

/**
 * What the segments contain and nothing has read: whole segments (`NK1`), fields
 * (`PID-13`), components (`OBX-3.7`), subcomponents (`PV1-3.4.2`), and
 * repetitions after the first (`OBR-32[2]`), sorted. Never a value.
 *
 * @param segments one line for each, numbered as in the log
 */
export function unreadIn(
  segments: readonly string[],
  separators: Separators,
  log: ReadingLog,
): string[] {
  const known = new Set([...log.fields].map((place) => place.slice(0, 3)));
  const unread = segments.flatMap((text, line) => {
    const [name = '', ...fields] = text.split(separators.field);
    if (!known.has(name)) return [name];
    const first = name === 'MSH' ? 2 : 1;
    return fields.flatMap((value, index) => {
      const field = index + first;
      const place = `${name}-${field}`;
      const isFormal =
        FORMAL.test(place) && (name === 'MSH' || /^\d{0,4}$/.test(value));
      return isFormal
        ? []
        : unreadOf(value, { place, line, field }, separators, log);
    });
  });
  return [...new Set(unread)].sort().slice(0, UNREAD_MAX);
}

interface Part {
  repetition: number;
  component: number;
  subcomponent: number;
  isRead: boolean;
}

function unreadOf(
  value: string,
  { place, line, field }: { place: string; line: number; field: number },
  separators: Separators,
  log: ReadingLog,
): string[] {
  const parts: Part[] = [];
  for (const [repetition, repeated] of value
    .split(separators.repetition)
    .entries())
    for (const [c, component] of repeated.split(separators.component).entries())
      for (const [s, text] of component
        .split(separators.subcomponent)
        .entries()) {
        if (text === '' || text === '""') continue;
        const part = { repetition, component: c + 1, subcomponent: s + 1 };
        parts.push({ ...part, isRead: log.hasRead({ line, field, ...part }) });
      }
  const isRead = (some: readonly Part[]) => some.some((part) => part.isRead);
  if (!isRead(parts)) return parts.length === 0 ? [] : [place];
  return parts
    .filter((part) => !part.isRead)
    .map(({ repetition, component, subcomponent }) => {
      const beside = parts.filter((part) => part.repetition === repetition);
      if (!isRead(beside)) return `${place}[2]`;
      const within = beside.filter((part) => part.component === component);
      return isRead(within)
        ? `${place}.${component}.${subcomponent}`
        : `${place}.${component}`;
    });
}
