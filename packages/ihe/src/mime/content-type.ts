/** A Content-Type: `multipart/related; boundary="a"; start="<b>"`. */
export interface ContentType {
  /** In lower case, without parameters; empty when there is none. */
  type: string;
  /** By name in lower case; values as written, without quotation marks. */
  parameters: Readonly<Record<string, string | undefined>>;
}

/**
 * Reads a Content-Type as senders write it: values may hold `:`, `+`, `=` or
 * `/` without quotation marks.
 */
export function readContentType(header: string | undefined): ContentType {
  const [type = '', ...rest] = splitOutsideQuotes(header ?? '');
  const parameters: Record<string, string> = {};
  for (const each of rest) {
    const equals = each.indexOf('=');
    if (equals < 0) continue;
    const name = each.slice(0, equals).trim().toLowerCase();
    parameters[name] ??= unquoted(each.slice(equals + 1).trim());
  }
  return { type: type.trim().toLowerCase(), parameters };
}

/** Splits at each `;` that does not stand in quotation marks. */
const splitOutsideQuotes = (header: string): string[] =>
  header.match(/(?:"(?:[^"\\]|\\.)*"|[^;])+/g) ?? [];

const unquoted = (value: string): string =>
  /^".*"$/s.test(value)
    ? value.slice(1, -1).replaceAll(/\\(.)/gs, '$1')
    : value;
