import type { IncomingMessage } from 'node:http';
import { type Readable, Transform } from 'node:stream';
import type { FastifyRequest } from 'fastify';
import { ExchangeError } from '../errors.ts';
import { Permits } from '../limits/permits.ts';
import { liftBodyTime } from './plugins/body-time.ts';
import { leaveRequestShare } from './plugins/request-share.ts';

/** What keeps an upload going: 500 bytes a second, slower than any modem. */
export const UPLOAD_BYTES_A_MINUTE = 30_000;

export interface UploadLimits {
  bytesMax: number;
  /** The upload is aborted if fewer than `idleBytes` arrive in this time. */
  idleMs: number;
  /** Default: 1, so that any byte counts. */
  idleBytes?: number;
  /** Maximum duration of the whole upload. */
  totalMs: number;
}

/**
 * Streams the body of an upload in bounded memory and with its own limits: a
 * large file over a slow connection takes longer than other requests may.
 * Throws 413 if Content-Length is too large. The stream fails with 408 or 413,
 * or with 400 if the connection breaks; the request itself is not destroyed, so
 * that a response can be sent.
 */
export function uploadBody(
  request: IncomingMessage,
  limits: UploadLimits,
): Readable {
  const { bytesMax, idleMs, idleBytes = 1, totalMs } = limits;
  if (Number(request.headers['content-length'] ?? 0) > bytesMax)
    throw tooLarge(bytesMax);
  let sizeBytes = 0;
  let bytesLately = 0;
  const body = new Transform({
    transform(part: Buffer, _encoding, done) {
      sizeBytes += part.length;
      bytesLately += part.length;
      if (bytesLately >= idleBytes) {
        bytesLately = 0;
        idle.refresh();
      }
      if (sizeBytes > bytesMax) done(tooLarge(bytesMax));
      else done(null, part);
    },
  });
  const idle = setTimeout(() => {
    // While bytes wait to be read, it is we who are slow, such as while the
    // blob store does not answer.
    if (body.readableLength > 0) idle.refresh();
    else
      body.destroy(
        timedOut(
          idleBytes === 1
            ? `No data was received for ${idleMs / 1000} seconds`
            : `Fewer than ${idleBytes} bytes were received in ${idleMs / 1000} seconds`,
        ),
      );
  }, idleMs);
  const total = setTimeout(
    () =>
      body.destroy(
        timedOut(`The upload took longer than ${totalMs / 60_000} minutes`),
      ),
    totalMs,
  );
  const abort = (cause?: Error) => body.destroy(aborted(cause));
  const onClose = () => {
    if (!request.readableEnded) abort();
  };
  request.once('error', abort).once('close', onClose);
  // The consumer gets the error; without a consumer, an unhandled error event
  // would end the process.
  body.on('error', () => undefined);
  body.once('close', () => {
    clearTimeout(idle);
    clearTimeout(total);
  });
  return request.pipe(body);
}

/**
 * Limits of parallel uploads of one kind: each may write to the blob store for
 * up to an hour. To one address there are two, because a client that lost its
 * connection begins again before that is noticed.
 */
const PERMITS = { all: 40, account: 8, holder: 2 };

/**
 * Receives uploads to an address, each outside the limits of other requests: `receive` reads
 * the body, whose rest is discarded when it has ended. Throws 503 when too many
 * files are being uploaded.
 */
export function createUploads(limits: UploadLimits) {
  const permits = new Permits(
    PERMITS,
    'Too many files are being uploaded at the moment',
  );
  return async <T>(
    request: FastifyRequest,
    { accountId, targetId }: { accountId: string; targetId: string },
    receive: (open: () => Readable) => Promise<T>,
  ): Promise<T> => {
    let body: Readable | undefined;
    let permit: { leave: () => void } | undefined;
    try {
      return await receive(() => {
        permit = permits.take(accountId, targetId);
        leaveRequestShare(request);
        liftBodyTime(request);
        body = uploadBody(request.raw, limits);
        return body;
      });
    } finally {
      body?.destroy();
      permit?.leave();
      discardBody(request.raw);
    }
  };
}

/**
 * How long a client that is still sending has to read the error response, in
 * milliseconds.
 */
const LINGER_MS = 10_000;

/**
 * Discards the rest of the body of a rejected request. If the connection were
 * closed at once, a client that is still sending would not receive the
 * response.
 */
export function discardBody(request: IncomingMessage): void {
  if (request.readableEnded || request.destroyed) return;
  const cut = setTimeout(() => request.destroy(), LINGER_MS);
  request.on('error', () => undefined).once('close', () => clearTimeout(cut));
  request.unpipe();
  request.resume();
}

const aborted = (cause?: Error): ExchangeError =>
  new ExchangeError(
    400,
    'The upload was interrupted and nothing was stored; send the whole file again',
    { code: 'upload-interrupted', cause },
  );

const timedOut = (what: string): ExchangeError =>
  new ExchangeError(
    408,
    `${what} and nothing was stored; send the whole file again`,
  );

const tooLarge = (bytesMax: number): ExchangeError =>
  new ExchangeError(
    413,
    `The file is larger than ${bytesMax} bytes; split it into several files`,
  );
