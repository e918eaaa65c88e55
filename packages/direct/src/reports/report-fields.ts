/** Fields by name in lower case, unfolded; of a repeated one, the first. */
export type ReportFields = ReadonlyMap<string, string>;

/**
 * Reads lines of `Name: value` in groups, which empty lines divide. A line that
 * begins with white space goes on with the one before.
 */
export function readReportFields(text: string): ReportFields[] {
  const groups = text
    .replaceAll(/\r\n?/g, '\n')
    .split(/\n[ \t]*\n+/)
    .filter((group) => group.trim() !== '');

  return groups.map(readGroup);
}

function readGroup(group: string): ReportFields {
  const fields = new Map<string, string>();

  for (const line of group.replaceAll(/\n[ \t]+/g, ' ').split('\n')) {
    const colon = line.indexOf(':');
    if (colon < 0) continue;

    const name = line.slice(0, colon).trim().toLowerCase();
    if (!fields.has(name)) fields.set(name, line.slice(colon + 1).trim());
  }

  return fields;
}
