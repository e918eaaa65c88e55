import { Agent, request } from 'undici';

/** Whatever a link of an exchange leads to is no larger. */
const BYTES_MAX = 200_000_000;
const TIMEOUT_MS = 60_000;

/**
 * Fetches what a link leads to, with no key: the link is the permission. Throws an error that names the status and
 * never the link, which lets whoever holds it read.
 */
export async function download(url: string): Promise<Buffer> {
  if (!/^https?:\/\//.test(url)) throw new Error('The link that the exchange gave is no web address');
  const dispatcher = new Agent();
  try {
    const { statusCode, body } = await request(url, {
      dispatcher,
      signal: AbortSignal.timeout(TIMEOUT_MS),
      headers: { accept: '*/*' },
    });
    const pieces: Buffer[] = [];
    let sizeBytes = 0;
    for await (const piece of body as AsyncIterable<Buffer>) {
      sizeBytes += piece.length;
      if (sizeBytes > BYTES_MAX) throw new Error('The link leads to more than 200 MB');
      pieces.push(piece);
    }
    if (statusCode !== 200) throw new Error(`The link was answered with ${statusCode}`);
    return Buffer.concat(pieces);
  } finally {
    await dispatcher.close();
  }
}
