import type { Dispatcher } from 'undici';
import { SourceFailure } from '../connector.ts';
import type { ResolvedSourceConfig } from '../source-config.ts';
import { codingsOf, decodedBody, isDecodingError } from './content-encoding.ts';
import { badAnswer } from './failures.ts';

/** One answer of a source, its body not read yet. */
export interface Answer {
  status: number;
  url: URL;
  /** Lower case, without parameters; '' when the source names none. */
  mediaType: string;
  retryAfterMs?: number;
  header(name: string): string | undefined;
  /** The body as it comes, decoded. Throws only SourceFailure. */
  chunks(): AsyncGenerator<Buffer>;
  /** The whole body; fails as soon as it is known to be larger than `bytesMax`. */
  bytes(bytesMax: number): Promise<Buffer>;
  /** Gives the connection back without reading much. */
  discard(): Promise<void>;
}

interface ExchangeRequest {
  label: string;
  streamed?: boolean;
  signal: AbortSignal;
}

const DISCARD_BYTES_MAX = 64_000;

/** One request and its answer: the time limit over both, and what their errors mean. */
export class Exchange {
  private readonly controller = new AbortController();
  private timer: NodeJS.Timeout | undefined;
  private timedOut = false;
  private coding = 'content encoding';

  constructor(
    private readonly config: ResolvedSourceConfig,
    private readonly request: ExchangeRequest,
  ) {
    this.startTimer();
    if (request.signal.aborted) this.controller.abort();
    else request.signal.addEventListener('abort', this.abort, { once: true });
  }

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  answered(response: Dispatcher.ResponseData, url: URL, retryAfterMs: number | undefined): Answer {
    if (this.request.streamed === true) clearTimeout(this.timer);
    // An error event without a listener ends the process. A reader still sees the error; an unread body has no reader.
    response.body.on('error', () => undefined);
    const header = (name: string) => {
      const value = response.headers[name];
      return Array.isArray(value) ? value[0] : value;
    };
    const declaredBytes = Number(header('content-length') ?? 0);
    return {
      status: response.statusCode,
      url,
      mediaType: (header('content-type') ?? '').split(';')[0]?.trim().toLowerCase() ?? '',
      retryAfterMs,
      header,
      chunks: () => this.chunks(response, header('content-encoding')),
      bytes: (bytesMax) => this.bytes(response, header('content-encoding'), declaredBytes, bytesMax),
      discard: () => this.discard(response),
    };
  }

  /** What an error of undici or of the stream means. */
  failed(error: unknown): SourceFailure {
    this.end();
    if (error instanceof SourceFailure) return error;
    const { source, requestTimeoutMs } = this.config;
    const { label, signal } = this.request;
    if (signal.aborted)
      return new SourceFailure('transport', `${source}: ${label} was cancelled`, { cause: error });
    const code = codeOf(error);
    if (this.timedOut || code.endsWith('_TIMEOUT')) {
      const message = `${source} did not answer ${label} within ${requestTimeoutMs / 1_000} s`;
      return new SourceFailure('transport', message, { cause: error });
    }
    if (isDecodingError(code))
      return badAnswer(source, `answered ${label} with broken ${this.coding}`, error);
    const message = `${source} broke off or refused the connection at ${label}${code === '' ? '' : ` (${code})`}`;
    return new SourceFailure('transport', message, { cause: error });
  }

  private async *chunks(response: Dispatcher.ResponseData, encoding = 'identity'): AsyncGenerator<Buffer> {
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

  /** Bytes may come without end and decode to nothing; the time that the reader takes is its own. */
  private async *withoutSilence(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    this.startTimer();
    for await (const chunk of chunks) {
      clearTimeout(this.timer);
      yield chunk;
      this.startTimer();
    }
  }

  private decoded(response: Dispatcher.ResponseData, encoding: string): AsyncIterable<Buffer> {
    const codings = codingsOf(encoding);
    if (codings === undefined) {
      this.destroy(response);
      const { source } = this.config;
      throw badAnswer(source, `answered ${this.request.label} in a content encoding that is not supported`);
    }
    this.coding = codings[0] ?? this.coding;
    return decodedBody(response.body, codings);
  }

  private async bytes(
    response: Dispatcher.ResponseData,
    encoding: string | undefined,
    declaredBytes: number,
    bytesMax: number,
  ): Promise<Buffer> {
    const tooLarge = () => {
      const limit = bytesMax < 1_000_000 ? `${bytesMax} bytes` : `${Math.floor(bytesMax / 1_000_000)} MB`;
      return badAnswer(this.config.source, `answered ${this.request.label} with more than ${limit}`);
    };
    if (declaredBytes > bytesMax) {
      this.destroy(response);
      throw tooLarge();
    }
    const parts: Buffer[] = [];
    let sizeBytes = 0;
    for await (const part of this.chunks(response, encoding)) {
      sizeBytes += part.length;
      if (sizeBytes > bytesMax) throw tooLarge();
      parts.push(part);
    }
    return Buffer.concat(parts, sizeBytes);
  }

  private async discard(response: Dispatcher.ResponseData): Promise<void> {
    // dump() ends in an error when there is more than the limit; either way the body is gone.
    await response.body.dump({ limit: DISCARD_BYTES_MAX }).catch(() => undefined);
    this.end();
  }

  private destroy(response: Dispatcher.ResponseData): void {
    response.body.destroy();
    this.end();
  }

  private readonly abort = () => this.controller.abort();

  private startTimer(): void {
    this.timer = setTimeout(() => {
      this.timedOut = true;
      this.controller.abort();
    }, this.config.requestTimeoutMs);
  }

  private end(): void {
    clearTimeout(this.timer);
    this.request.signal.removeEventListener('abort', this.abort);
  }
}

function codeOf(error: unknown): string {
  if (!(error instanceof Error) || !('code' in error) || typeof error.code !== 'string') return '';
  return /^[A-Z][A-Z0-9_]+$/.test(error.code) ? error.code : '';
}
