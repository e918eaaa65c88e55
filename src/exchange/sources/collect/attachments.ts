import { setTimeout as delay } from 'node:timers/promises';
import type { FhirResource } from 'fhir/r4.js';
import { type Attachment, SourceFailure } from '../connector.ts';
import { isRecord } from '../http/failures.ts';
import { FHIR_JSON } from '../http/source-http.ts';
import { isAllowedUrl } from '../source-config.ts';
import type { SourceContext } from '../source-context.ts';
import { resolveLink } from './bundle.ts';

const DOCUMENT = 'a document';
const PER_PAGE_MAX = 100;
const RETRY_DELAY_MAX_MS = 2_000;

export interface CollectedAttachments {
  attachments: Attachment[];
  skippedAttachments: number;
}

/**
 * Fetches the attachments of a page's DocumentReferences: inline data, `Binary/{id}`, or a URL at one of the source's
 * configured origins. An attachment that cannot be fetched (gone, too large, at another origin, or failing twice) is
 * skipped and counted; the page is kept without it.
 */
export async function collectAttachments(
  context: SourceContext,
  resources: FhirResource[],
  signal: AbortSignal,
): Promise<CollectedAttachments> {
  const pointers = resources.flatMap(pointersOf);
  const attachments: Attachment[] = [];
  let leftBytes = 2 * context.config.pageBytesMax;
  for (const pointer of pointers.slice(0, PER_PAGE_MAX)) {
    const bytesMax = Math.min(leftBytes, context.config.pageBytesMax);
    const attachment = await collectOne(context, pointer, bytesMax, signal);
    if (attachment === undefined) continue;
    leftBytes -= attachment.bytes.length;
    attachments.push(attachment);
  }
  return { attachments, skippedAttachments: pointers.length - attachments.length };
}

interface Pointer {
  documentReferenceId: string;
  contentType: string;
  url?: string;
  data?: string;
}

function pointersOf(resource: FhirResource): Pointer[] {
  if (resource.resourceType !== 'DocumentReference' || resource.id === undefined) return [];
  const contents: unknown[] = Array.isArray(resource.content) ? resource.content : [];
  return contents.flatMap((content): Pointer[] => {
    const attachment = isRecord(content) && isRecord(content.attachment) ? content.attachment : {};
    const url = typeof attachment.url === 'string' ? attachment.url : undefined;
    const data = typeof attachment.data === 'string' ? attachment.data : undefined;
    if (url === undefined && data === undefined) return [];
    const contentType = mediaTypeOf(attachment.contentType);
    return [{ documentReferenceId: String(resource.id), contentType, url, data }];
  });
}

/** Validates the source's media type before we send or store it; anything malformed becomes octet-stream. */
function mediaTypeOf(value: unknown): string {
  const type = typeof value === 'string' ? (value.split(';')[0]?.trim().toLowerCase() ?? '') : '';
  return /^[a-z0-9]+\/[a-z0-9.+-]{1,100}$/.test(type) ? type : 'application/octet-stream';
}

async function collectOne(
  context: SourceContext,
  pointer: Pointer,
  bytesMax: number,
  signal: AbortSignal,
): Promise<Attachment | undefined> {
  const { documentReferenceId, contentType, data } = pointer;
  if (data !== undefined) {
    const bytes = Buffer.from(data, 'base64');
    return bytes.length > bytesMax ? undefined : { documentReferenceId, contentType, bytes };
  }
  const url = resolveLink(pointer.url ?? '', context.config.baseUrl, context.config.baseUrl);
  if (url === undefined || !isAllowedUrl(context.config, url)) return undefined;
  try {
    return await fetchDocument(context, url, pointer, bytesMax, signal);
  } catch (error) {
    if (!(error instanceof SourceFailure) || signal.aborted) throw error;
    if (error.kind !== 'transport' && error.kind !== 'rate-limited') return undefined;
    await delay(Math.min(error.options.retryAfterMs ?? 200, RETRY_DELAY_MAX_MS), undefined, { signal }).catch(
      () => {
        throw error;
      },
    );
  }
  return fetchDocument(context, url, pointer, bytesMax, signal).catch((error: unknown) => {
    if (!(error instanceof SourceFailure) || signal.aborted) throw error;
    return undefined;
  });
}

async function fetchDocument(
  { http }: SourceContext,
  url: URL,
  { documentReferenceId, contentType }: Pointer,
  bytesMax: number,
  signal: AbortSignal,
): Promise<Attachment> {
  const accept = `${contentType}, */*;q=0.5, ${FHIR_JSON};q=0.2`;
  const response = await http.send({ method: 'GET', url, label: DOCUMENT, accept, signal });
  if (response.status !== 200) throw await http.failureOf(response, DOCUMENT);
  // A Binary in FHIR JSON carries its data in base64, which is a third longer.
  const bytes = await response.bytes(
    response.mediaType.endsWith('json') ? Math.ceil(bytesMax * 1.4) : bytesMax,
  );
  const binary = response.mediaType.endsWith('json') ? binaryOf(bytes) : undefined;
  if (binary !== undefined) return { documentReferenceId, ...binary };
  const responseType = mediaTypeOf(response.mediaType);
  const isVague = responseType === 'application/octet-stream';
  return { documentReferenceId, contentType: isVague ? contentType : responseType, bytes };
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
