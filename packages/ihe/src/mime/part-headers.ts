/** The headers of a part, by name in lower case, unfolded. */
export type PartHeaders = Readonly<Record<string, string | undefined>>;

/** Reads the lines before the empty line of a part. */
export function readPartHeaders(lines: readonly string[]): PartHeaders {
  const headers: Record<string, string> = {};
  let last: string | undefined;
  for (const line of lines) {
    if (/^[ \t]/.test(line) && last !== undefined) {
      headers[last] = `${headers[last]} ${line.trim()}`;
      continue;
    }
    const colon = line.indexOf(':');
    if (colon < 0) continue;
    last = line.slice(0, colon).trim().toLowerCase();
    headers[last] = line.slice(colon + 1).trim();
  }
  return headers;
}

/**
 * Content-IDs and what refers to them in one form: without `cid:`, brackets and
 * percent-encoding, which senders use on either side or not.
 */
export function bareContentId(written: string): string {
  const bare = written
    .trim()
    .replace(/^cid:/i, '')
    .replace(/^<(.*)>$/s, '$1');
  try {
    return decodeURIComponent(bare);
  } catch {
    return bare;
  }
}
