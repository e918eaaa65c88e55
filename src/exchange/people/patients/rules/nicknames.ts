import table from './nicknames.json' with { type: 'json' };

/** For each name, the lines of the table that contain it. */
const LINES = new Map<string, number[]>();
for (const [line, names] of table.names.entries())
  for (const name of names.split(' ')) LINES.set(name, [...(LINES.get(name) ?? []), line]);

/** Whether one name is a nickname of the other, or both are of the same name. @param left, right comparable words */
export function areNicknames(left: string, right: string): boolean {
  const lines = LINES.get(left) ?? [];
  return LINES.get(right)?.some((line) => lines.includes(line)) ?? false;
}
