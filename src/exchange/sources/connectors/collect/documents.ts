import { type Attachment, type LargeAttachment, SourceFailure } from '../connector.ts';
import { badResponse, isRecord } from '../http/failures.ts';
import type { SourceResponse } from '../http/http-response.ts';
import { FHIR_JSON } from '../http/source-http.ts';
import type { ResolvedSourceConfig } from '../source-config.ts';
import type { SourceContext } from '../source-context.ts';
import { mediaTypeOf, REASONS_MAX } from './attachments.ts';
import type { FetchedPart } from './fetched-part.ts';
import type { DocumentToFetch, StepOf } from './plan.ts';
import { mayBeAway, throwIfSourceIsAway, tryTwice } from './source-away.ts';

const DOCUMENT = 'a document';
/** Documents per page, so that a crash repeats few of them. */
const PER_PAGE_MAX = 50;
/** Held in memory up to this size, also all of one page together; a larger one is streamed. */
const HELD_BYTES_MAX = 4_000_000;

/**
 * Fetches the next attachments. One that cannot be fetched (gone, too large, or failing twice) is skipped and counted, unless
 * the source is away: then the page ends before it, and the next one fails until the source is back. A large one ends the
 * page too: it is streamed to the store, not held in memory.
 */
export async function fetchDocuments(
  context: SourceContext,
  step: StepOf<'documents'>,
  signal: AbortSignal,
): Promise<FetchedPart> {
  const attachments: Attachment[] = [];
  let largeAttachment: LargeAttachment | undefined;
  let skippedAttachments = 0;
  const skippedReasons = new Set<string>();
  let heldBytes = 0;
  let asked = 0;
  for (const document of step.documents) {
    const isFull = asked >= PER_PAGE_MAX || heldBytes >= HELD_BYTES_MAX || largeAttachment !== undefined;
    if (isFull) break;
    const fetched = await fetchOne(context, document, signal).catch((error: unknown) => {
      // What this page has is stored first.
      if (asked > 0 && error instanceof SourceFailure && !signal.aborted) return 'later' as const;
      throw error;
    });
    if (fetched === 'later') break;
    asked += 1;
    if (fetched instanceof SourceFailure) {
      skippedAttachments += 1;
      skippedReasons.add(fetched.message);
    } else if ('chunks' in fetched) largeAttachment = fetched;
    else {
      heldBytes += fetched.bytes.length;
      attachments.push(fetched);
    }
  }
  const rest = step.documents.slice(asked);
  const bytes = Buffer.alloc(0);
  return {
    entries: [],
    raw: { bytes, contentType: FHIR_JSON },
    rawWithout: () => bytes,
    next: rest.length === 0 ? [] : [{ ...step, documents: rest }],
    documents: {
      ...{ attachments, skippedAttachments, largeAttachment },
      skippedReasons: [...skippedReasons].slice(0, REASONS_MAX),
    },
  };
}

/**
 * Tries again once, after a short delay, if the failure may pass. Returns the failure if the document cannot be fetched.
 * @throws SourceFailure if the source is away
 */
async function fetchOne(
  context: SourceContext,
  document: DocumentToFetch,
  signal: AbortSignal,
): Promise<Attachment | LargeAttachment | SourceFailure> {
  const fetched = await tryTwice(() => request(context, document, signal), signal);
  if (!(fetched instanceof SourceFailure)) return fetched;
  if (mayBeAway(fetched)) {
    const path = `DocumentReference/${document.documentReferenceId}`;
    await throwIfSourceIsAway(context, { path, label: 'a DocumentReference' }, signal);
  }
  return fetched;
}

async function request(
  context: SourceContext,
  document: DocumentToFetch,
  signal: AbortSignal,
): Promise<Attachment | LargeAttachment> {
  const { documentReferenceId } = document;
  const { documentBytesMax, pageBytesMax } = context.config;
  const response = await send(context, document, signal);
  // A Binary in FHIR JSON carries its data in base64, which is a third longer. It is held in memory, so it is a page.
  if (response.mediaType.endsWith('json')) {
    const bytes = await response.bytes(Math.ceil(Math.min(documentBytesMax, pageBytesMax) * 1.4));
    const content = binaryOf(bytes) ?? { contentType: typeOf(response, document), bytes };
    return { documentReferenceId, ...content };
  }
  const contentType = typeOf(response, document);
  const declaredBytes = Number(response.header('content-length') ?? Number.NaN);
  if (declaredBytes > documentBytesMax) {
    await response.discard();
    throw tooLarge(context.config);
  }
  const body = withinLimit(context, response.chunks());
  const held: Buffer[] = [];
  let heldBytes = 0;
  while (heldBytes <= HELD_BYTES_MAX) {
    const part = await body.next();
    if (part.done === true) return { documentReferenceId, contentType, bytes: Buffer.concat(held) };
    held.push(part.value);
    heldBytes += part.value.length;
  }
  let isFirst = true;
  async function* chunks(): AsyncGenerator<Buffer> {
    // A response is read once; a second reading needs a new one.
    if (!isFirst) return yield* withinLimit(context, (await send(context, document, signal)).chunks());
    isFirst = false;
    yield* held.splice(0);
    yield* body;
  }
  return { documentReferenceId, contentType, chunks };
}

async function* withinLimit(
  { config }: SourceContext,
  chunks: AsyncIterable<Buffer>,
): AsyncGenerator<Buffer, undefined> {
  let sizeBytes = 0;
  for await (const chunk of chunks) {
    sizeBytes += chunk.length;
    if (sizeBytes > config.documentBytesMax) throw tooLarge(config);
    yield chunk;
  }
}

const tooLarge = ({ source, documentBytesMax }: ResolvedSourceConfig): SourceFailure =>
  badResponse(source, `answered ${DOCUMENT} with more than ${documentBytesMax} bytes`);

async function send(
  { http }: SourceContext,
  { url, contentType }: DocumentToFetch,
  signal: AbortSignal,
): Promise<SourceResponse> {
  const accept = `${contentType}, */*;q=0.5, ${FHIR_JSON};q=0.2`;
  const response = await http.send({
    method: 'GET',
    url: new URL(url),
    label: DOCUMENT,
    accept,
    streamed: true,
    signal,
  });
  if (response.status !== 200) throw await http.failureOf(response, DOCUMENT);
  return response;
}

/** The type that the source sent; the one that the DocumentReference names if that says nothing. */
function typeOf(response: SourceResponse, { contentType }: DocumentToFetch): string {
  const sent = mediaTypeOf(response.mediaType);
  return sent === 'application/octet-stream' ? contentType : sent;
}

function binaryOf(bytes: Buffer): { contentType: string; bytes: Buffer } | undefined {
  try {
    const json: unknown = JSON.parse(bytes.toString('utf8'));
    if (!isRecord(json) || json.resourceType !== 'Binary' || typeof json.data !== 'string') return undefined;
    return { contentType: mediaTypeOf(json.contentType), bytes: Buffer.from(json.data, 'base64') };
  } catch {
    return undefined;
  }
}
