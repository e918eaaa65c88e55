import type { Dispatcher } from 'undici';

/** Far above any response of the interface. */
const ANSWER_SIZE_MAX_BYTES = 4 * 1024 * 1024;

export class BodyTooLargeError extends Error {
  override readonly name = 'BodyTooLargeError';
  constructor() {
    super(`the answer is larger than ${ANSWER_SIZE_MAX_BYTES} bytes`);
  }
}

/**
 * Parses the body as JSON. Returns undefined when it is not JSON, such as a
 * proxy's error page. If the body is too large, throws BodyTooLargeError when
 * it is `needed`, and returns undefined otherwise. Throws errors of the stream.
 */
export async function readJson(
  body: Dispatcher.ResponseData['body'],
  needed: boolean,
): Promise<unknown> {
  const chunks: Buffer[] = [];
  let sizeBytes = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    sizeBytes += chunk.length;
    if (sizeBytes > ANSWER_SIZE_MAX_BYTES) {
      if (needed) throw new BodyTooLargeError();
      return undefined;
    }
    chunks.push(chunk);
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString('utf8'));
  } catch {
    return undefined;
  }
}
