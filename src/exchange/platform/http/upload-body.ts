import type { IncomingMessage } from 'node:http';
import { type Readable, Transform } from 'node:stream';
import { ExchangeError } from '../errors.ts';

export interface UploadLimits {
  bytesMax: number;
  /** Without a byte for this long the upload is cut off. */
  idleMs: number;
  /** However slowly it comes, it must be whole by then. */
  totalMs: number;
}

/**
 * The body as it comes in, in bounded memory, under limits of its own: a large file over a slow line takes longer than
 * any other request may. Throws 413 for what is announced as too large. The stream fails with 408 or 413, or 400 when
 * the connection breaks off; the request itself stays whole, so that it can be answered.
 */
export function uploadBody(request: IncomingMessage, limits: UploadLimits): Readable {
  const { bytesMax, idleMs, totalMs } = limits;
  if (Number(request.headers['content-length'] ?? 0) > bytesMax) throw tooLarge(bytesMax);
  let sizeBytes = 0;
  const body = new Transform({
    transform(part: Buffer, _encoding, done) {
      idle.refresh();
      sizeBytes += part.length;
      if (sizeBytes > bytesMax) done(tooLarge(bytesMax));
      else done(null, part);
    },
  });
  const idle = setTimeout(() => body.destroy(timedOut(`No byte came for ${idleMs / 1000} s`)), idleMs);
  const total = setTimeout(
    () => body.destroy(timedOut(`The file did not come within ${totalMs / 60_000} minutes`)),
    totalMs,
  );
  const breakOff = (cause?: Error) => body.destroy(brokenOff(cause));
  const onClose = () => {
    if (!request.readableEnded) breakOff();
  };
  request.once('error', breakOff).once('close', onClose);
  // Whoever reads it sees the failure; when nobody does (any more), it must not end the process.
  body.on('error', () => undefined);
  body.once('close', () => {
    clearTimeout(idle);
    clearTimeout(total);
  });
  return request.pipe(body);
}

/** Milliseconds in which a client that is still sending may read why it is refused. */
const LINGER_MS = 10_000;

/**
 * Throws away what still comes of a request that is being refused: a connection closed at once would take the answer
 * with it, for whoever sends does not read yet.
 */
export function drain(request: IncomingMessage): void {
  if (request.readableEnded || request.destroyed) return;
  const cut = setTimeout(() => request.destroy(), LINGER_MS);
  request.on('error', () => undefined).once('close', () => clearTimeout(cut));
  request.unpipe();
  request.resume();
}

const brokenOff = (cause?: Error): ExchangeError =>
  new ExchangeError(400, 'The upload broke off: nothing was kept, send the whole file again', { cause });

const timedOut = (what: string): ExchangeError =>
  new ExchangeError(408, `${what}; nothing was kept, send the whole file again`);

const tooLarge = (bytesMax: number): ExchangeError =>
  new ExchangeError(413, `The file is larger than ${bytesMax} bytes; split it`);
