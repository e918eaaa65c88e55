import type { FhirResource } from 'fhir/r4.js';
import type { Attachment } from '../connector.ts';
import { foreignOrigin, isRecord } from '../http/failures.ts';
import { isAllowedUrl, type ResolvedSourceConfig } from '../source-config.ts';
import { resolveLink } from './bundle.ts';
import type { DocumentToFetch, StepOf } from './plan.ts';
import { isResourceId } from './subjects.ts';

/** Reasons are for people to read. */
export const REASONS_MAX = 3;

export interface FoundAttachments {
  /** Those inside the resources. */
  attachments: Attachment[];
  /** Those without a usable address, or at an origin that is not configured. */
  skippedAttachments: number;
  /** Why, each once. */
  skippedReasons: string[];
  /** The step that fetches the rest; empty if there are none. */
  steps: StepOf<'documents'>[];
}

/** Which attachments of a document are taken. */
export type TakenContents = 'all' | 'inline' | 'none';

/**
 * The attachments of a page's DocumentReferences: inline data, and those to fetch, `Binary/{id}` or a URL at one of the
 * source's configured origins.
 */
export function attachmentsOf(
  config: ResolvedSourceConfig,
  resources: FhirResource[],
  takenOf: (document: FhirResource) => TakenContents = () => 'all',
): FoundAttachments {
  const attachments: Attachment[] = [];
  const documents: DocumentToFetch[] = [];
  let skippedAttachments = 0;
  const skippedReasons = new Set<string>();
  for (const { documentReferenceId, contentType, url, data } of resources.flatMap((each) =>
    pointersOf(each, takenOf(each)),
  )) {
    if (data !== undefined) {
      attachments.push({ documentReferenceId, contentType, bytes: Buffer.from(data, 'base64') });
      continue;
    }
    const address = resolveLink(config, url ?? '', config.baseUrl);
    if (address !== undefined && isAllowedUrl(config, address)) {
      documents.push({ documentReferenceId, contentType, url: address.href });
      continue;
    }
    skippedAttachments += 1;
    if (address !== undefined)
      skippedReasons.add(foreignOrigin(config, 'refers to documents at', address).message);
  }
  return {
    attachments,
    skippedAttachments,
    skippedReasons: [...skippedReasons].slice(0, REASONS_MAX),
    steps: documents.length === 0 ? [] : [{ kind: 'documents', documents }],
  };
}

interface Pointer {
  documentReferenceId: string;
  contentType: string;
  url?: string;
  data?: string;
}

function pointersOf(resource: FhirResource, taken: TakenContents): Pointer[] {
  if (resource.resourceType !== 'DocumentReference' || !isResourceId(resource.id) || taken === 'none')
    return [];
  const documentReferenceId = resource.id;
  const contents: unknown[] = Array.isArray(resource.content) ? resource.content : [];
  return contents.flatMap((content): Pointer[] => {
    const attachment = isRecord(content) && isRecord(content.attachment) ? content.attachment : {};
    const url = typeof attachment.url === 'string' ? attachment.url : undefined;
    const data = typeof attachment.data === 'string' ? attachment.data : undefined;
    if (data === undefined && (url === undefined || taken === 'inline')) return [];
    return [{ documentReferenceId, contentType: mediaTypeOf(attachment.contentType), url, data }];
  });
}

/** Validates the source's media type before we send or store it; anything malformed becomes octet-stream. */
export function mediaTypeOf(value: unknown): string {
  const type = typeof value === 'string' ? (value.split(';')[0]?.trim().toLowerCase() ?? '') : '';
  return /^[a-z0-9]+\/[a-z0-9.+-]{1,100}$/.test(type) ? type : 'application/octet-stream';
}
