import { Readable } from 'node:stream';
import { type Dispatcher, request as send } from 'undici';
import { z } from 'zod';
import { anySignal } from '../../lib/abort-signals.ts';
import type { CredentialHeader } from './api-key-credential.ts';
import {
  type CallNature,
  ExchangeCallError,
  errorCodeOf,
  failedResponse,
  failedTransport,
  htmlResponse,
  isHtml,
  mismatchedResponse,
  receivedResponse,
} from './failures.ts';
import { readJson } from './read-json.ts';

export interface FileTransferOptions {
  credential: () => Promise<CredentialHeader>;
  dispatcher?: Dispatcher;
  /** A transfer fails when no byte has moved for this long. */
  stallMs: number;
  /**
   * Whether a download may be an HTML page. Otherwise such a response is taken
   * for the page of a proxy.
   */
  acceptsHtml?: boolean;
}

export interface OutgoingFile {
  content: AsyncIterable<Uint8Array>;
  /** Hex digest of the whole `content`. */
  sha256: string;
  sizeBytes: number;
  contentType: string;
}

export interface TransferProgress {
  signal?: AbortSignal;
  /** Called after each chunk with the number of bytes transferred so far. */
  onProgress?: (movedBytes: number) => void;
}

/**
 * `taken`: the exchange has the file, from this upload or from an earlier one
 * whose response was lost. `gone`: the URL is used or expired, and a new one is
 * needed.
 */
export type UploadOutcome = 'taken' | 'gone';

/**
 * A second PUT of the same bytes has no effect (docs/interface.md, "Bulk CSV"),
 * so uploads may be repeated.
 */
const NATURE: CallNature = {
  changes: false,
  repeatable: true,
  conflictMeansRunning: false,
};
/** S3 answers 403 for an expired URL; a rejected key is a 401. */
const GONE = new Set([403, 404, 410]);

/** The 409 response to a second PUT describes the first upload. */
const conflictSchema = z.object({
  upload: z.object({ status: z.string(), sha256: z.string().optional() }),
});

export type FileTransfer = ReturnType<typeof createFileTransfer>;

export function createFileTransfer({
  credential,
  dispatcher,
  stallMs,
  acceptsHtml = false,
}: FileTransferOptions) {
  return { upload, download };

  /**
   * PUTs a file to an upload URL of the exchange (E5). Throws
   * ExchangeCallError.
   */
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
      throw failedResponse(
        'uploadFile',
        receivedResponse(answer, body),
        NATURE,
      );
    } catch (error) {
      // If reading our own file failed, report that, and not a failure of the
      // exchange.
      throw (
        watch.contentError() ??
        asCallError('uploadFile', error, progress.signal, watch)
      );
    } finally {
      watch.end();
    }
  }

  /**
   * Downloads from a signed link, in bounded memory. The link itself authorises
   * the request, so no credential is sent. Throws ExchangeCallError, with
   * `not-found` for an expired link. The stream may fail with ExchangeCallError
   * too.
   */
  async function download(
    url: string,
    progress: TransferProgress = {},
  ): Promise<AsyncIterable<Uint8Array>> {
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
      if (
        status === 200 &&
        !acceptsHtml &&
        isHtml(answer.headers['content-type'])
      ) {
        await answer.body.dump();
        throw htmlResponse('downloadFile', status);
      }
      if (status === 200) return guarded(answer.body, progress.signal, watch);
      const body = await readJson(answer.body, false);
      if (GONE.has(status) || status === 401)
        throw new ExchangeCallError(
          'not-found',
          `downloadFile: ${status}, the link is no longer valid`,
          {
            retryable: true,
            httpStatus: status,
          },
        );
      throw failedResponse(
        'downloadFile',
        receivedResponse(answer, body),
        NATURE,
      );
    } catch (error) {
      watch.end();
      throw asCallError('downloadFile', error, progress.signal, watch);
    }
  }
}

function afterConflict(body: unknown, file: OutgoingFile): UploadOutcome {
  const conflict = conflictSchema.safeParse(body);
  const { status, sha256 } = conflict.data?.upload ?? {};
  if (status === 'expired') return 'gone';
  if (sha256 === file.sha256) return 'taken';
  // An interrupted upload of ours may still be open at the exchange.
  const stillOpen = sha256 === undefined || sha256 === '';
  throw new ExchangeCallError(
    'conflict',
    stillOpen
      ? 'uploadFile: 409, another upload is in progress'
      : 'uploadFile: 409, another file was uploaded for this request',
    { retryable: stillOpen, httpStatus: 409 },
  );
}

type StallWatch = ReturnType<typeof watchForStall>;

/**
 * Aborts a stalled transfer: undici has no timeout for a request body that the
 * server does not read.
 */
function watchForStall(
  stallMs: number,
  { signal, onProgress }: TransferProgress,
) {
  const stall = new AbortController();
  const timer = setTimeout(() => stall.abort(), stallMs);
  let movedBytes = 0;
  let contentError: unknown;
  return {
    signal:
      signal === undefined ? stall.signal : anySignal([stall.signal, signal]),
    stalled: () => stall.signal.aborted,
    /** The error with which reading the content of `through` failed. */
    contentError: () => contentError,
    async *through(
      content: AsyncIterable<Uint8Array>,
    ): AsyncGenerator<Uint8Array> {
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
        // Close the source even when the consumer stops early.
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
    throw asCallError('downloadFile', error, signal, watch);
  } finally {
    watch.end();
  }
}

function asCallError(
  operation: string,
  error: unknown,
  signal: AbortSignal | undefined,
  watch: StallWatch,
): unknown {
  if (error instanceof ExchangeCallError) return error;
  if (signal?.aborted) return signal.reason;
  return failedTransport(
    operation,
    watch.stalled() ? 'stalled' : errorCodeOf(error),
    true,
    NATURE,
  );
}

function asHttpUrl(operation: string, url: string): URL {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed?.protocol === 'https:' || parsed?.protocol === 'http:')
    return parsed;
  throw mismatchedResponse(
    operation,
    'the URL in the response is not a valid http(s) URL',
    200,
  );
}
