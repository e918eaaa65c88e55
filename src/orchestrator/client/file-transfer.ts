import { Readable } from 'node:stream';
import { type Dispatcher, request as send } from 'undici';
import { z } from 'zod';
import { anySignal } from '../../lib/any-signal.ts';
import type { CredentialHeader } from './credentials.ts';
import {
  badAnswer,
  type CallNature,
  codeOf,
  ExchangeCallError,
  failedAnswer,
  failedTransport,
} from './failures.ts';
import { readJson } from './read-json.ts';

export interface FileTransferOptions {
  credential: () => Promise<CredentialHeader>;
  dispatcher?: Dispatcher;
  /** Without a byte for so long a transfer is given up. */
  stallMs: number;
}

export interface OutgoingFile {
  content: AsyncIterable<Uint8Array>;
  /** Hex, of all of `content`. */
  sha256: string;
  sizeBytes: number;
  contentType: string;
}

export interface TransferProgress {
  signal?: AbortSignal;
  /** Bytes moved so far, after each piece. */
  onProgress?: (movedBytes: number) => void;
}

/**
 * `taken`: the file is there, by this upload or an earlier one whose answer was lost. `gone`: the URL is not valid any
 * more (used up, expired), and another one is needed.
 */
export type UploadOutcome = 'taken' | 'gone';

export interface FileTransfer {
  /** PUTs a file to an upload URL of the exchange (E5). Throws ExchangeCallError. */
  upload(url: string, file: OutgoingFile, progress?: TransferProgress): Promise<UploadOutcome>;
  /**
   * What a link leads to, in bounded memory. A link carries its own authority, so no credential goes with it.
   * Throws ExchangeCallError, `not-found` for a link that is not valid any more; the stream fails with one too.
   */
  download(url: string, progress?: TransferProgress): Promise<AsyncIterable<Uint8Array>>;
}

/** A second PUT of the same bytes changes nothing (interface-decisions.md, Bulk CSV), so any of them may be repeated. */
const NATURE: CallNature = { changes: false, repeatable: true, conflictMeansRunning: false };
/** S3 says 403 of an expired URL; a key that is not accepted is a 401. */
const GONE = new Set([403, 404, 410]);

/** The 409 of a further PUT tells what the first one has left. */
const conflictSchema = z.object({
  upload: z.object({ status: z.string(), sha256: z.string().optional() }),
});

export function createFileTransfer({ credential, dispatcher, stallMs }: FileTransferOptions): FileTransfer {
  return { upload, download };

  async function upload(
    url: string,
    file: OutgoingFile,
    progress: TransferProgress = {},
  ): Promise<UploadOutcome> {
    const { name, value } = await credential();
    const watch = watchForStall(stallMs, progress);
    try {
      const answer = await send(asHttpUrl('uploadFile', url), {
        method: 'PUT',
        headers: {
          [name]: value,
          'content-type': file.contentType,
          'content-length': String(file.sizeBytes),
        },
        body: Readable.from(watch.through(file.content), { objectMode: false }),
        dispatcher,
        signal: watch.signal,
        headersTimeout: stallMs,
        bodyTimeout: stallMs,
      });
      const { statusCode: status } = answer;
      const body = await readJson(answer.body, false);
      if (status >= 200 && status <= 299) return 'taken';
      if (GONE.has(status)) return 'gone';
      if (status === 409) return afterConflict(body, file);
      throw failedAnswer('uploadFile', { status, retryAfter: headerOf(answer, 'retry-after'), body }, NATURE);
    } catch (error) {
      // Our own file cannot be read: no fault of the exchange.
      throw watch.contentError() ?? asExchangeError('uploadFile', error, progress.signal, watch);
    } finally {
      watch.end();
    }
  }

  async function download(url: string, progress: TransferProgress = {}): Promise<AsyncIterable<Uint8Array>> {
    const watch = watchForStall(stallMs, progress);
    try {
      const answer = await send(asHttpUrl('downloadFile', url), {
        method: 'GET',
        dispatcher,
        signal: watch.signal,
        headersTimeout: stallMs,
        bodyTimeout: stallMs,
      });
      const { statusCode: status } = answer;
      if (status === 200) return guarded(answer.body, progress.signal, watch);
      const body = await readJson(answer.body, false);
      if (GONE.has(status) || status === 401)
        throw new ExchangeCallError('not-found', `downloadFile: ${status}, the link is not valid any more`, {
          retryable: true,
          httpStatus: status,
        });
      throw failedAnswer(
        'downloadFile',
        { status, retryAfter: headerOf(answer, 'retry-after'), body },
        NATURE,
      );
    } catch (error) {
      watch.end();
      throw asExchangeError('downloadFile', error, progress.signal, watch);
    }
  }
}

function afterConflict(body: unknown, file: OutgoingFile): UploadOutcome {
  const conflict = conflictSchema.safeParse(body);
  const { status, sha256 } = conflict.data?.upload ?? {};
  if (status === 'expired') return 'gone';
  if (sha256 === file.sha256) return 'taken';
  // An upload of ours that broke off may still be open at the other end.
  const stillOpen = sha256 === undefined || sha256 === '';
  throw new ExchangeCallError(
    'conflict',
    stillOpen
      ? 'uploadFile: 409, another upload is under way'
      : 'uploadFile: 409, another file was uploaded for this request',
    { retryable: stillOpen, httpStatus: 409 },
  );
}

interface StallWatch {
  signal: AbortSignal;
  stalled: () => boolean;
  /** What `through` was given to read failed with this. */
  contentError: () => unknown;
  through(content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array>;
  end(): void;
}

/** undici has no limit for a request body that the other side does not take. */
function watchForStall(stallMs: number, { signal, onProgress }: TransferProgress): StallWatch {
  const stall = new AbortController();
  const timer = setTimeout(() => stall.abort(), stallMs);
  let movedBytes = 0;
  let contentError: unknown;
  return {
    signal: signal === undefined ? stall.signal : anySignal([stall.signal, signal]),
    stalled: () => stall.signal.aborted,
    contentError: () => contentError,
    async *through(content) {
      const pieces = content[Symbol.asyncIterator]();
      try {
        for (;;) {
          const next = await pieces.next().catch((error: unknown) => {
            contentError = error;
            throw error;
          });
          if (next.done === true) return;
          yield next.value;
          movedBytes += next.value.length;
          timer.refresh();
          onProgress?.(movedBytes);
        }
      } finally {
        // Whoever takes no more must not leave a file open.
        await pieces.return?.();
      }
    },
    end: () => clearTimeout(timer),
  };
}

async function* guarded(
  body: Readable,
  signal: AbortSignal | undefined,
  watch: StallWatch,
): AsyncGenerator<Uint8Array> {
  try {
    yield* watch.through(body);
  } catch (error) {
    throw asExchangeError('downloadFile', error, signal, watch);
  } finally {
    watch.end();
  }
}

function asExchangeError(
  operation: string,
  error: unknown,
  signal: AbortSignal | undefined,
  watch: StallWatch,
): unknown {
  if (error instanceof ExchangeCallError) return error;
  if (signal?.aborted) return signal.reason;
  return failedTransport(operation, watch.stalled() ? 'stalled' : codeOf(error), true, NATURE);
}

function asHttpUrl(operation: string, url: string): URL {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed?.protocol === 'https:' || parsed?.protocol === 'http:') return parsed;
  throw badAnswer(operation, 'the exchange gave an address that is none', 200);
}

const headerOf = ({ headers }: Dispatcher.ResponseData, name: string): string | undefined => {
  const value = headers[name];
  return Array.isArray(value) ? value[0] : value;
};
