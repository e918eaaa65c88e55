import { hash } from 'node:crypto';
import type { DocumentReference } from 'fhir/r4.js';

/** A file that a DocumentReference contained. */
export interface InlineFile {
  /** Id of its DocumentReference. */
  sourceDocumentId: string;
  contentType: string;
  bytes: Buffer;
}

/**
 * Takes the files out of a DocumentReference, which then names size and hash of
 * each; adds them to `files`.
 */
export function withoutFiles(
  reference: DocumentReference,
  files: InlineFile[],
): DocumentReference {
  const contents: typeof reference.content = Array.isArray(reference.content)
    ? reference.content
    : [];
  return {
    ...reference,
    content: contents.map((content) => {
      const { data, ...attachment } = content.attachment ?? {};
      if (typeof data !== 'string') return content;
      const bytes = Buffer.from(data, 'base64');
      const contentType = mediaTypeOf(attachment.contentType);
      files.push({ sourceDocumentId: reference.id ?? '', contentType, bytes });
      return {
        ...content,
        attachment: {
          ...attachment,
          contentType,
          size: bytes.length,
          hash: hash('sha1', bytes, 'base64'),
        },
      };
    }),
  };
}

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
