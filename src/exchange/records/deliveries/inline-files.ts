import { hash } from 'node:crypto';
import type { FhirResource } from 'fhir/r4.js';
import { type Json, textOf } from '#record-summary/fhir';
import {
  attachmentsIn,
  fileKeyOf,
  withAttachments,
} from '../rules/attachments.ts';

/** A file that a resource contained. */
export interface InlineFile {
  /** Its resource (`fileKeyOf`). */
  sourceDocumentId: string;
  contentType: string;
  bytes: Buffer;
}

/**
 * Takes the files out of a DocumentReference, which then names size and hash of
 * each; adds them to `files`. Other resources keep theirs as well: merging
 * compares what they hold.
 */
export function withoutFiles<R extends FhirResource>(
  resource: R,
  files: InlineFile[],
): R {
  const { resourceType, id = '' } = resource;
  const sourceDocumentId = fileKeyOf({ resourceType, id });
  const fileOf = ({ data, contentType }: Json): InlineFile => ({
    sourceDocumentId,
    contentType: mediaTypeOf(contentType),
    bytes: Buffer.from(textOf(data) ?? '', 'base64'),
  });
  const json = resource as unknown as Json;
  const own = attachmentsIn(json).filter(({ data }) => isText(data));
  files.push(...own.map(fileOf));
  if (own.length === 0 || resourceType !== 'DocumentReference') return resource;
  return withAttachments(json, (attachment) => {
    const { data, ...rest } = attachment;
    if (!isText(data)) return attachment;
    const { contentType, bytes } = fileOf(attachment);
    return {
      ...rest,
      contentType,
      size: bytes.length,
      hash: hash('sha1', bytes, 'base64'),
    };
  }) as unknown as R;
}

const isText = (value: unknown): boolean => typeof value === 'string';

/**
 * Validates the source's media type before we send or store it; anything
 * malformed becomes octet-stream.
 */
export function mediaTypeOf(value: unknown): string {
  const type =
    typeof value === 'string'
      ? (value.split(';')[0]?.trim().toLowerCase() ?? '')
      : '';
  return /^[a-z0-9]+\/[a-z0-9.+-]{1,100}$/.test(type)
    ? type
    : 'application/octet-stream';
}
