import { hash } from 'node:crypto';
import type { FhirResource } from 'fhir/r4.js';
import { type Json, textOf } from '#record-summary/fhir';
import { mediaTypeOf } from '../../../records/deliveries/inline-files.ts';
import {
  attachmentsIn,
  fileKeyOf,
  fileOwnerOf,
} from '../../../records/rules/attachments.ts';
import type { SourceContext } from '../capabilities.ts';
import {
  type Attachment,
  type LargeAttachment,
  SourceFailure,
} from '../connector.ts';
import { badResponse, foreignOrigin, isRecord } from '../http/failures.ts';
import type { SourceResponse } from '../http/http-response.ts';
import { FHIR_MEDIA_TYPE } from '../http/source-http.ts';
import { isAllowedUrl, type ResolvedSourceConfig } from '../source-config.ts';
import { resolveLink } from './bundle-page.ts';
import {
  type DocumentToFetch,
  emptyPart,
  type FetchedPart,
  isStoringDue,
  type Plan,
  type Step,
  type StepOf,
} from './plan.ts';
import { resourceTypesOf } from './resource-types.ts';
import { mayBeAway, throwIfSourceIsAway, tryTwice } from './smaller-pages.ts';
import { isResourceId } from './subjects.ts';

const DOCUMENT = 'a document';
/** A document that takes longer, however steadily it comes, is left out. */
const DOCUMENT_MS_MAX = 15 * 60_000;
/** Documents per page, so that a crash repeats few of them; fewer of a slow source. */
const PER_PAGE_MAX = 50;
/**
 * Held in memory up to this size, also all of one page together; a larger one
 * is streamed.
 */
const HELD_BYTES_MAX = 4_000_000;

/**
 * Fetches the next attachments. One that cannot be fetched (gone, too large, or
 * failing twice) is skipped and counted, unless the source is away: then the
 * page ends before it, and the next one fails until the source is back. A large
 * one ends the page too: it is streamed to the store, not held in memory.
 */
export async function fetchDocuments(
  context: SourceContext,
  step: StepOf<'documents'>,
  signal: AbortSignal,
): Promise<FetchedPart> {
  const attachments: Attachment[] = [];
  let largeAttachment: LargeAttachment | undefined;
  let skippedAttachments = 0;
  let differingAttachments = 0;
  const skippedReasons = new Set<string>();
  let heldBytes = 0;
  let asked = 0;
  const begunMs = context.now();
  const isFull = () =>
    asked >= PER_PAGE_MAX ||
    heldBytes >= HELD_BYTES_MAX ||
    largeAttachment !== undefined;
  for (const document of step.documents) {
    if (isFull() || (asked > 0 && isStoringDue(context.now, begunMs))) break;
    const fetched = await fetchOne(context, document, signal).catch(
      orLater(asked > 0, signal),
    );
    if (fetched === 'later') break;
    asked += 1;
    if (fetched instanceof SourceFailure) {
      skippedAttachments += 1;
      skippedReasons.add(fetched.message);
    } else if ('chunks' in fetched) largeAttachment = fetched;
    else {
      heldBytes += fetched.bytes.length;
      attachments.push(fetched);
      differingAttachments += Number(isOtherThanStated(document, fetched));
    }
  }
  const rest = step.documents.slice(asked);
  return {
    ...emptyPart(rest.length === 0 ? [] : [{ ...step, documents: rest }]),
    documents: {
      attachments,
      differingAttachments,
      skippedAttachments,
      largeAttachment,
      skippedReasons: [...skippedReasons].slice(0, REASONS_MAX),
    },
  };
}

/** What a page has is stored before the failure of the next file counts. */
const orLater =
  (hasAny: boolean, signal: AbortSignal) =>
  (error: unknown): 'later' => {
    if (hasAny && error instanceof SourceFailure && !signal.aborted)
      return 'later';
    throw error;
  };

/**
 * Whether a file has another size or hash than its source states. A source that
 * sends another type than it names has converted the file.
 */
function isOtherThanStated(
  stated: Pick<DocumentToFetch, 'contentType' | 'size' | 'sha1'>,
  { bytes, contentType }: Pick<Attachment, 'bytes' | 'contentType'>,
): boolean {
  if (contentType !== stated.contentType) return false;
  return (
    (stated.size !== undefined && stated.size !== bytes.length) ||
    (stated.sha1 !== undefined && stated.sha1 !== hash('sha1', bytes))
  );
}

/** The stated SHA-1 in hex; undefined for a hash of another kind. */
function sha1Of(stated: unknown): string | undefined {
  if (typeof stated !== 'string') return undefined;
  if (/^[0-9a-f]{40}$/i.test(stated)) return stated.toLowerCase();
  return /^[A-Za-z0-9+/]{27}=$/.test(stated)
    ? Buffer.from(stated, 'base64').toString('hex')
    : undefined;
}

/**
 * Tries again once, after a short delay, if the failure may pass. Returns the
 * failure if the document cannot be fetched.
 * @throws SourceFailure if the source is away
 */
async function fetchOne(
  context: SourceContext,
  document: DocumentToFetch,
  signal: AbortSignal,
): Promise<Attachment | LargeAttachment | SourceFailure> {
  const fetched = await tryTwice(
    () => request(context, document, signal),
    signal,
  );
  if (!(fetched instanceof SourceFailure)) return fetched;
  if (mayBeAway(fetched)) {
    const { resourceType, id } = fileOwnerOf(document.sourceDocumentId);
    await throwIfSourceIsAway(
      context,
      { path: `${resourceType}/${id}`, label: `a ${resourceType}` },
      signal,
    );
  }
  return fetched;
}

async function request(
  context: SourceContext,
  document: DocumentToFetch,
  signal: AbortSignal,
): Promise<Attachment | LargeAttachment> {
  const { sourceDocumentId } = document;
  const { documentBytesMax, pageBytesMax } = context.config;
  const response = await send(context, document, signal);
  // A Binary in FHIR JSON carries its data in base64, which is a third longer.
  // It is held in memory, so it is a page.
  if (response.mediaType.endsWith('json')) {
    const bytes = await response.bytes(
      Math.ceil(Math.min(documentBytesMax, pageBytesMax) * 1.4),
    );
    const content = binaryOf(bytes) ?? {
      contentType: typeOf(response, document),
      bytes,
    };
    return { sourceDocumentId, ...content };
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
    if (part.done === true)
      return { sourceDocumentId, contentType, bytes: Buffer.concat(held) };
    held.push(part.value);
    heldBytes += part.value.length;
  }
  let isFirst = true;
  async function* chunks(): AsyncGenerator<Buffer> {
    // A response is read once; a second reading needs a new one.
    if (!isFirst)
      return yield* withinLimit(
        context,
        (await send(context, document, signal)).chunks(),
      );
    isFirst = false;
    yield* held.splice(0);
    yield* body;
  }
  return { sourceDocumentId, contentType, chunks };
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

const tooLarge = ({
  source,
  documentBytesMax,
}: ResolvedSourceConfig): SourceFailure =>
  badResponse(
    source,
    `answered ${DOCUMENT} with more than ${documentBytesMax} bytes`,
  );

async function send(
  { http }: SourceContext,
  { url, contentType }: DocumentToFetch,
  signal: AbortSignal,
): Promise<SourceResponse> {
  const accept = `${contentType}, */*;q=0.5, ${FHIR_MEDIA_TYPE};q=0.2`;
  const response = await http.send({
    method: 'GET',
    url: new URL(url),
    label: DOCUMENT,
    accept,
    streamed: true,
    wholeMsMax: DOCUMENT_MS_MAX,
    signal,
  });
  if (response.status !== 200) throw await http.failureOf(response, DOCUMENT);
  return response;
}

/**
 * The type that the source sent; the one that the resource names if
 * that says nothing.
 */
function typeOf(
  response: SourceResponse,
  { contentType }: DocumentToFetch,
): string {
  const sent = mediaTypeOf(response.mediaType);
  return sent === 'application/octet-stream' ? contentType : sent;
}

function binaryOf(
  bytes: Buffer,
): { contentType: string; bytes: Buffer } | undefined {
  try {
    const json: unknown = JSON.parse(bytes.toString('utf8'));
    if (
      !isRecord(json) ||
      json.resourceType !== 'Binary' ||
      typeof json.data !== 'string'
    )
      return undefined;
    return {
      contentType: mediaTypeOf(json.contentType),
      bytes: Buffer.from(json.data, 'base64'),
    };
  } catch {
    return undefined;
  }
}

/** Reasons are for people to read. */
const REASONS_MAX = 3;

/** Which attachments of a resource are taken. */
type TakenContents = 'all' | 'inline' | 'none';

/**
 * The attachments of a page's resources: inline data, and those to fetch,
 * `Binary/{id}` or a URL at one of the source's configured origins.
 */
export function attachmentsOf(
  config: ResolvedSourceConfig,
  resources: FhirResource[],
  takenOf: (document: FhirResource) => TakenContents = () => 'all',
) {
  const attachments: Attachment[] = [];
  const documents: DocumentToFetch[] = [];
  let skippedAttachments = 0;
  let differingAttachments = 0;
  const skippedReasons = new Set<string>();
  const pointers = resources.flatMap((each) => pointersOf(each, takenOf(each)));
  for (const { url, data, ...stated } of pointers) {
    if (data !== undefined) {
      const { sourceDocumentId, contentType } = stated;
      const bytes = Buffer.from(data, 'base64');
      attachments.push({ sourceDocumentId, contentType, bytes });
      if (isOtherThanStated(stated, { bytes, contentType }))
        differingAttachments += 1;
      continue;
    }
    const address = resolveLink(config, url ?? '', config.baseUrl);
    if (address !== undefined && isAllowedUrl(config, address)) {
      documents.push({ ...stated, url: address.href });
      continue;
    }
    skippedAttachments += 1;
    if (address !== undefined)
      skippedReasons.add(
        foreignOrigin(config, 'refers to documents at', address).message,
      );
  }
  return {
    /** The attachments inside the resources. */
    attachments,
    /** How many of them have another size or hash than is stated. */
    differingAttachments,
    /**
     * Attachments without a usable address, or at an origin that is not
     * configured.
     */
    skippedAttachments,
    /** Why, each once. */
    skippedReasons: [...skippedReasons].slice(0, REASONS_MAX),
    /** The step that fetches the rest; empty if there are none. */
    steps:
      documents.length === 0 ? [] : [{ kind: 'documents' as const, documents }],
  };
}

interface Pointer extends Omit<DocumentToFetch, 'url'> {
  url?: string;
  data?: string;
}

function pointersOf(resource: FhirResource, taken: TakenContents): Pointer[] {
  const { resourceType, id } = resource;
  if (!isResourceId(id) || taken === 'none') return [];
  const sourceDocumentId = fileKeyOf({ resourceType, id });
  return attachmentsIn(resource as unknown as Json).flatMap(
    ({ contentType, size, hash: sha1, url, data }): Pointer[] => {
      const inline = textOf(data);
      const address = textOf(url);
      if (inline === undefined && (address === undefined || taken === 'inline'))
        return [];
      return [
        {
          sourceDocumentId,
          contentType: mediaTypeOf(contentType),
          size: typeof size === 'number' ? size : undefined,
          sha1: sha1Of(sha1),
          url: address,
          data: inline,
        },
      ];
    },
  );
}

/** Limits the names kept in the cursor, which is stored with each page. */
const REMEMBERED_MAX = 5_000;

/**
 * The searches for a patient's documents as IHE MHD has them (ITI-67), one for
 * each status: MHD demands the parameter, with one value. Superseded documents
 * are listed too, so that one that was current in an earlier query does not
 * stay so.
 */
export function documentSearches(
  parameter: string,
  value: string,
): StepOf<'search'>[] {
  return (['current', 'superseded'] as const).map((status) => ({
    kind: 'search',
    type: 'DocumentReference',
    parameter,
    value,
    status,
  }));
}

/**
 * The same beside `$everything`, if the server has them: a gateway to a
 * document network may leave documents out there.
 */
export async function documentSearchesBesides(
  context: SourceContext,
  patientId: string,
): Promise<StepOf<'search'>[]> {
  const { documentSearch } = await context.capabilities.read();
  const areAsked = resourceTypesOf(context.config.source).clinical.includes(
    'DocumentReference',
  );
  return documentSearch && areAsked
    ? documentSearches('patient', `Patient/${patientId}`)
    : [];
}

/**
 * The document search that a step belongs to, as its first page or a further
 * one.
 */
const searchOf = (step: Step): StepOf<'search'> | undefined => {
  const search = step.kind === 'link' ? step.origin : step;
  return search?.kind === 'search' && search.status !== undefined
    ? search
    : undefined;
};

/**
 * What is taken of the contents of a step's documents. Of a document search:
 * nothing of a document that an earlier page contained (`$everything` may have
 * brought the same), and of a superseded one only what the list itself
 * contains, because a responder answers 410 for it (ITI-68).
 */
export function contentsTakenBy(
  plan: Plan,
  step: Step,
): (document: FhirResource) => TakenContents {
  const search = searchOf(step);
  if (search === undefined) return () => 'all';
  const known = new Set(plan.documents);
  return (document) => {
    if (document.id === undefined || known.has(document.id)) return 'none';
    // A server may ignore the parameter.
    const isSuperseded =
      search.status === 'superseded' ||
      ('status' in document && document.status === 'superseded');
    return isSuperseded ? 'inline' : 'all';
  };
}

/**
 * The ids of the documents that the plan's pages contained so far, as long as a
 * document search may contain them again.
 */
export function withDocuments(
  plan: Plan,
  resources: FhirResource[],
): string[] | undefined {
  if (!plan.steps.some((step) => searchOf(step) !== undefined))
    return undefined;
  const found = resources.flatMap(({ resourceType, id }) =>
    resourceType === 'DocumentReference' && id !== undefined ? [id] : [],
  );
  return [...new Set([...(plan.documents ?? []), ...found])].slice(
    0,
    REMEMBERED_MAX,
  );
}

export const mayBeCcda = ({ contentType }: { contentType: string }): boolean =>
  /xml|^text\/plain$|^application\/octet-stream$/.test(contentType);
