import { pipeline, type Readable, type Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import type { Dispatcher } from 'undici';
import { lookupTable } from '../../../../lib/lookup-table.ts';
import { parseFhirJson, writtenIn } from '../../../../lib/written-decimals.ts';
import { SourceFailure } from '../connector.ts';
import type { ResolvedSourceConfig } from '../source-config.ts';
import { badResponse, ResponseTooLargeError } from './failures.ts';
import { tlsFailure } from './tls.ts';

/** One HTTP response of a source, its body not read yet. */
export type SourceResponse = ReturnType<HttpExchange['responded']>;

export interface ExchangeRequest {
  /**
   * Describes the request in messages: `Patient/$match`. Never contains an id.
   */
  label: string;
  /**
   * True when the body is read chunk by chunk: the timeout then applies between
   * chunks, not to the whole.
   */
  streamed?: boolean;
  /** How long a body that is read chunk by chunk may take as a whole. */
  wholeMsMax?: number;
  /**
   * True when the beginning of a response that is too large will be read
   * (`ResponseTooLargeError`).
   */
  keepsBeginning?: boolean;
  /**
   * How long the source may still answer a request that was sent before the
   * abort. For a request that starts something at the source, so that it is
   * known and can be stopped there.
   */
  abortGraceMs?: number;
  signal: AbortSignal;
}

const DISCARD_BYTES_MAX = 64_000;

/**
 * One request and its response: applies the time limit to both and maps their
 * errors to SourceFailure.
 */
export class HttpExchange {
  private readonly controller = new AbortController();
  private timer: NodeJS.Timeout | undefined;
  private graceTimer: NodeJS.Timeout | undefined;
  private timedOut = false;
  private coding = 'content encoding';
  private readonly config: ResolvedSourceConfig;
  private readonly request: ExchangeRequest;

  constructor(config: ResolvedSourceConfig, request: ExchangeRequest) {
    this.config = config;
    this.request = request;

    this.startTimer();
    if (request.signal.aborted) this.controller.abort();
    else
      request.signal.addEventListener('abort', this.abortAfterGrace, {
        once: true,
      });
  }

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  responded(
    response: Dispatcher.ResponseData,
    url: URL,
    retryAfterMs: number | undefined,
  ) {
    if (this.request.streamed === true) clearTimeout(this.timer);
    // An error event without a listener ends the process, and an unread body
    // has none. A reader still gets the error.
    response.body.on('error', () => undefined);
    this.endGrace();
    const header = (name: string) => {
      const value = response.headers[name];
      return Array.isArray(value) ? value[0] : value;
    };
    const declaredBytes = Number(header('content-length') ?? 0);
    return {
      status: response.statusCode,
      url,
      /** Lower case, without parameters; '' without a Content-Type header. */
      mediaType:
        (header('content-type') ?? '').split(';')[0]?.trim().toLowerCase() ??
        '',
      retryAfterMs,
      header,
      /** The decoded body, chunk by chunk. Throws only SourceFailure. */
      chunks: () => this.chunks(response, header('content-encoding')),
      /** The whole body, decoded. Fails as soon as it exceeds `bytesMax`. */
      bytes: (bytesMax: number) =>
        this.bytes(
          response,
          url,
          header('content-encoding'),
          declaredBytes,
          bytesMax,
        ),
      /** Releases the connection; reads at most 64 kB of the body. */
      discard: () => this.discard(response),
    };
  }

  /** Maps an error of undici or of the stream to a SourceFailure. */
  failed(error: unknown): SourceFailure {
    this.end();
    if (error instanceof SourceFailure) return error;
    const { source, requestTimeoutSeconds } = this.config;
    const { label, signal } = this.request;
    if (signal.aborted)
      return new SourceFailure(
        'transport',
        `${source}: ${label} was cancelled`,
        { cause: error },
      );
    const untrusted = tlsFailure(this.config, label, error);
    if (untrusted !== undefined) return untrusted;
    const code = networkErrorCode(error);
    if (this.timedOut || code.endsWith('_TIMEOUT')) {
      const message = `${source} did not answer ${label} within ${requestTimeoutSeconds} s`;
      return new SourceFailure('transport', message, { cause: error });
    }
    if (isDecodingError(code))
      return badResponse(
        source,
        `answered ${label} with broken ${this.coding}`,
        error,
      );
    const message = `${source} refused or dropped the connection during ${label}${code === '' ? '' : ` (${code})`}`;
    return new SourceFailure('transport', message, { cause: error });
  }

  private async *chunks(
    response: Dispatcher.ResponseData,
    encoding = 'identity',
  ): AsyncGenerator<Buffer> {
    try {
      const decoded = this.decoded(response, encoding);
      if (this.request.streamed === true) yield* this.withoutSilence(decoded);
      else yield* decoded;
    } catch (error) {
      throw this.failed(error);
    } finally {
      this.end();
    }
  }

  /**
   * Limits the time between decoded chunks (endless input may decode to
   * nothing), excluding the reader's own time.
   */
  private async *withoutSilence(
    chunks: AsyncIterable<Buffer>,
  ): AsyncGenerator<Buffer> {
    const { wholeMsMax = Number.POSITIVE_INFINITY } = this.request;
    const begunMs = performance.now();
    this.startTimer();
    for await (const chunk of chunks) {
      clearTimeout(this.timer);
      if (performance.now() - begunMs > wholeMsMax)
        throw this.tooSlow(wholeMsMax);
      yield chunk;
      this.startTimer();
    }
  }

  private tooSlow(wholeMsMax: number): SourceFailure {
    const minutes = wholeMsMax / 60_000;
    return badResponse(
      this.config.source,
      `did not finish sending ${this.request.label} within ${minutes} minutes`,
    );
  }

  private decoded(
    response: Dispatcher.ResponseData,
    encoding: string,
  ): AsyncIterable<Buffer> {
    const codings = codingsOf(encoding);
    if (codings === undefined) {
      this.destroy(response);
      const { source } = this.config;
      throw badResponse(
        source,
        `answered ${this.request.label} in a content encoding that is not supported`,
      );
    }
    this.coding = codings[0] ?? this.coding;
    return decodedBody(response.body, codings);
  }

  private async bytes(
    response: Dispatcher.ResponseData,
    url: URL,
    encoding: string | undefined,
    declaredBytes: number,
    bytesMax: number,
  ): Promise<Buffer> {
    const parts: Buffer[] = [];
    const tooLarge = () => {
      const limit =
        bytesMax < 1_000_000
          ? `${bytesMax} bytes`
          : `${Math.floor(bytesMax / 1_000_000)} MB`;
      const message = `${this.config.source} answered ${this.request.label} with more than ${limit}`;
      return new ResponseTooLargeError(message, url, Buffer.concat(parts));
    };
    if (declaredBytes > bytesMax && this.request.keepsBeginning !== true) {
      this.destroy(response);
      throw tooLarge();
    }
    let sizeBytes = 0;
    try {
      for await (const part of this.chunks(response, encoding)) {
        sizeBytes += part.length;
        parts.push(part);
        if (sizeBytes > bytesMax) throw tooLarge();
      }
    } catch (error) {
      throw declaredBytes > bytesMax ? tooLarge() : error;
    }
    return Buffer.concat(parts, sizeBytes);
  }

  private async discard(response: Dispatcher.ResponseData): Promise<void> {
    // dump() fails when the body exceeds the limit; the connection is released
    // either way.
    await response.body
      .dump({ limit: DISCARD_BYTES_MAX })
      .catch(() => undefined);
    this.end();
  }

  private destroy(response: Dispatcher.ResponseData): void {
    response.body.destroy();
    this.end();
  }

  private readonly abort = () => this.controller.abort();

  private readonly abortAfterGrace = () => {
    const { abortGraceMs } = this.request;
    if (abortGraceMs === undefined) this.abort();
    else this.graceTimer = setTimeout(this.abort, abortGraceMs);
  };

  private startTimer(): void {
    this.timer = setTimeout(() => {
      this.timedOut = true;
      this.controller.abort();
    }, this.config.requestTimeoutSeconds * 1_000);
  }

  /**
   * The headers have arrived: from here on, an abort takes effect at once, also
   * one that was made before.
   */
  private endGrace(): void {
    const { signal } = this.request;
    signal.removeEventListener('abort', this.abortAfterGrace);
    if (signal.aborted) this.abort();
    else signal.addEventListener('abort', this.abort, { once: true });
  }

  private end(): void {
    clearTimeout(this.timer);
    clearTimeout(this.graceTimer);
    this.request.signal.removeEventListener('abort', this.abortAfterGrace);
    this.request.signal.removeEventListener('abort', this.abort);
  }
}

function networkErrorCode(error: unknown): string {
  if (
    !(error instanceof Error) ||
    !('code' in error) ||
    typeof error.code !== 'string'
  )
    return '';
  return /^[A-Z][A-Z0-9_]+$/.test(error.code) ? error.code : '';
}

const DECODERS: Readonly<Record<string, () => Transform>> = lookupTable({
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
});

/**
 * The codings of a Content-Encoding header that must be decoded; undefined when
 * they are not supported. We request none, but a proxy in front of the source
 * may apply one. More than one is refused: it has no legitimate use, and each
 * coding multiplies the decoded size.
 */
function codingsOf(header: string): readonly string[] | undefined {
  const codings = header
    .split(',')
    .map((coding) => coding.trim().toLowerCase());
  const coded = codings.filter(
    (coding) => coding !== '' && coding !== 'identity',
  );
  return coded.length <= 1 &&
    coded.every((coding) => Object.hasOwn(DECODERS, coding))
    ? coded
    : undefined;
}

/**
 * The decoded body. The caller must limit its size: a few bytes may expand to
 * gigabytes.
 */
function decodedBody(body: Readable, [coding]: readonly string[]): Readable {
  const createDecoder = coding === undefined ? undefined : DECODERS[coding];
  if (createDecoder === undefined) return body;
  // The reader sees every failure; `pipeline` destroys both streams whichever
  // ends first.
  return pipeline(body, createDecoder(), () => undefined);
}

/**
 * Whether an error code comes from a decoder with invalid input, not from the
 * connection.
 */
const isDecodingError = (code: string): boolean =>
  /^(Z_|ERR_BROTLI|ERR_+ERROR_)/.test(code);

/**
 * Deeper than any FHIR resource, but shallow enough for our recursive
 * functions.
 */
const LEVELS_MAX = 1_000;

export type SourceJson =
  | { isRead: true; json: unknown }
  | { isRead: false; fault: string };

/**
 * Parses JSON from a source. On failure, `fault` describes the problem for a
 * message, such as `broken JSON`.
 */
export function readSourceJson(bytes: Buffer): SourceJson {
  // Checked before parsing: deeper nesting overflows the stack, in JSON.parse
  // or in later code.
  const memberCount = countMembers(bytes);
  if (memberCount === undefined)
    return {
      isRead: false,
      fault: `JSON nested more than ${LEVELS_MAX} levels deep`,
    };
  try {
    // Without a byte order mark.
    const json = parseFhirJson(new TextDecoder().decode(bytes));
    // JSON.parse keeps the last of two equal names, other parsers the first:
    // nobody knows which one the source means.
    if (membersIn(json) !== memberCount)
      return { isRead: false, fault: 'JSON that names an element twice' };
    return { isRead: true, json };
  } catch {
    return { isRead: false, fault: 'broken JSON' };
  }
}

/** Without what `parseFhirJson` adds. */
function membersIn(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  let count = 0;
  if (Array.isArray(value)) for (const item of value) count += membersIn(item);
  else
    for (const name in value) {
      const item = (value as Record<string, unknown>)[name];
      if (writtenIn(item) === undefined) count += 1 + membersIn(item);
    }
  return count;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;

/**
 * The number of members of all objects; undefined if they are nested too
 * deeply. One pass over the bytes; string contents, which make up most of them,
 * are skipped.
 */
function countMembers(bytes: Buffer): number | undefined {
  let levels = 0;
  let members = 0;
  for (let index = 0; index < bytes.length; index += 1) {
    switch (bytes[index]) {
      case QUOTE:
        index = endOfString(bytes, index);
        break;
      case COLON:
        members += 1;
        break;
      case OPEN_OBJECT:
      case OPEN_LIST:
        levels += 1;
        if (levels > LEVELS_MAX) return undefined;
        break;
      case CLOSE_OBJECT:
      case CLOSE_LIST:
        levels -= 1;
        break;
    }
  }
  return members;
}

/**
 * The index of the quote that closes the string; the last index when it is not
 * closed.
 */
export function endOfString(bytes: Buffer, start: number): number {
  let end = bytes.indexOf(QUOTE, start + 1);
  while (end !== -1 && isEscaped(bytes, end))
    end = bytes.indexOf(QUOTE, end + 1);
  return end === -1 ? bytes.length - 1 : end;
}

function isEscaped(bytes: Buffer, quote: number): boolean {
  let backslashes = 0;
  while (bytes[quote - 1 - backslashes] === BACKSLASH) backslashes += 1;
  return backslashes % 2 === 1;
}
