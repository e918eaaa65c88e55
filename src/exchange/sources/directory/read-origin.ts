import { createReadStream } from 'node:fs';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { request } from 'undici';
import { isObject, lenientObjects, lenientText } from './rules/lenient-json.ts';
import { createSplitter, type SplitItem } from './rules/split-resources.ts';

/** Where a directory is read from. */
export interface DirectoryOrigin {
  /** An address (`https:`, `http:` or `file:`). */
  address: string;
  /** The Authorization header. */
  authorization?: string | undefined;
}

/** The origin cannot be read, or broke off. The message says why. */
export class OriginUnreadable extends Error {
  override readonly name = 'OriginUnreadable';
  /** It may be read later. */
  readonly mayPass: boolean;

  constructor(message: string, { mayPass }: { mayPass: boolean }) {
    super(message);
    this.mayPass = mayPass;
  }
}

const PAGES_MAX = 5_000;
const HTTP_TIMEOUT_MS = 60_000;
const FHIR_JSON =
  'application/fhir+json, application/fhir+ndjson, application/json';

/** An origin as it is shown: without a query, which may hold a key. */
export function shownOrigin(address: string): string {
  const url = new URL(address);
  if (url.protocol === 'file:') return basename(fileURLToPath(url));
  return `${url.origin}${url.pathname}`;
}

/**
 * Reads the resources of a directory: those of a file or a response, and of the
 * pages that a FHIR server's Bundle leads to on the same server.
 * @throws OriginUnreadable
 */
export async function* readOrigin(
  { address, authorization }: DirectoryOrigin,
  signal: AbortSignal,
): AsyncGenerator<SplitItem> {
  let next: string | undefined = address;
  for (let page = 1; next !== undefined; page += 1) {
    if (page > PAGES_MAX)
      throw new OriginUnreadable(`it has more than ${PAGES_MAX} pages`, {
        mayPass: false,
      });
    const splitter = createSplitter();
    for await (const chunk of openOrigin(
      { address: next, authorization },
      FHIR_JSON,
      signal,
    ))
      yield* splitter.push(chunk);
    yield* splitter.end();
    if (splitter.isCut)
      throw new OriginUnreadable('it ends in the middle', { mayPass: true });
    next = nextPage(splitter.around, next);
  }
}

/**
 * The bytes at an origin.
 *
 * @param accept media types that are wanted
 * @throws OriginUnreadable
 */
export async function* openOrigin(
  origin: DirectoryOrigin,
  accept: string,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const { address } = origin;
  try {
    yield* address.startsWith('file:')
      ? createReadStream(fileURLToPath(address), { signal })
      : await fetchBody(origin, accept, signal);
  } catch (error) {
    if (signal.aborted || error instanceof OriginUnreadable) throw error;
    const code = (error as { code?: unknown } | null)?.code;
    throw new OriginUnreadable(
      `it cannot be read (${typeof code === 'string' ? code : 'connection'})`,
      { mayPass: code !== 'ENOENT' && code !== 'EACCES' },
    );
  }
}

async function fetchBody(
  { address, authorization }: DirectoryOrigin,
  accept: string,
  signal: AbortSignal,
): Promise<AsyncIterable<Uint8Array>> {
  const { statusCode, body } = await request(address, {
    headers: {
      accept,
      ...(authorization === undefined ? {} : { authorization }),
    },
    headersTimeout: HTTP_TIMEOUT_MS,
    bodyTimeout: HTTP_TIMEOUT_MS,
    signal,
  });
  if (statusCode === 200) return body;
  await body.dump();
  throw new OriginUnreadable(`the server answers ${statusCode}`, {
    mayPass: statusCode >= 500 || statusCode === 429,
  });
}

function nextPage(
  around: string | undefined,
  address: string,
): string | undefined {
  if (around === undefined) return undefined;
  const bundle = parseBundle(around);
  const link = lenientObjects(isObject(bundle) ? bundle.link : undefined).find(
    ({ relation }) => relation === 'next',
  );
  const url = lenientText(link?.url);
  if (url === undefined) return undefined;
  if (!URL.canParse(url, address)) return undefined;
  const next = new URL(url, address);
  if (next.origin !== new URL(address).origin)
    throw new OriginUnreadable('its next page is on another server', {
      mayPass: false,
    });
  return next.href;
}

function parseBundle(around: string): unknown {
  try {
    return JSON.parse(around);
  } catch {
    return undefined;
  }
}
