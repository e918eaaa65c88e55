/**
 * A Message-ID, Content-ID or address without brackets and outer space, as it
 * is compared; undefined for none.
 */
export function bareId(written: string | undefined): string | undefined {
  const bare = written
    ?.trim()
    .replace(/^<(.*)>$/s, '$1')
    .trim();

  return bare === '' ? undefined : bare;
}

/** Whether two ids are of one message: case and brackets do not count. */
export function isSameMessage(one: string, other: string): boolean {
  return bareId(one)?.toLowerCase() === bareId(other)?.toLowerCase();
}
