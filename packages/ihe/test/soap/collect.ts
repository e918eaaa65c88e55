/** The bytes of a message in one piece. */
export async function collect(
  chunks: AsyncIterable<Uint8Array>,
): Promise<Buffer> {
  const all: Uint8Array[] = [];
  for await (const chunk of chunks) all.push(chunk);
  return Buffer.concat(all);
}

/** Bytes as they may arrive: in chunks of a size. */
export async function* inChunks(
  bytes: Uint8Array,
  size: number,
): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size)
    yield bytes.subarray(at, at + size);
}
