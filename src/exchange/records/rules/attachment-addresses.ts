import { createHash } from 'node:crypto';
import { canonical, type Json, textOf } from '#record-summary/fhir';
import { attachmentsIn, isPicture, withAttachments } from './attachments.ts';
import { unknownElement } from './us-core/named-rules.ts';

/** A stored file that was delivered with a resource. */
export interface HeldDocument {
  id: string;
  contentType: string;
  sizeBytes: number;
  /** SHA-256, hex. */
  sha256: string;
}

/**
 * Replaces the sources' addresses of attachments, which a reader could not
 * fetch: by `Binary/<id>` of the FHIR API where the file is stored, otherwise
 * by the statement that the address is unknown. `withAddressesAt` makes them
 * absolute.
 */
export function withOurAddresses(
  resource: Json,
  held: readonly HeldDocument[],
): Json {
  const attachments = attachmentsIn(resource);
  const fileOf = filesFor(attachments, held);
  const addressed = withAttachments(resource, (attachment, element) => {
    const file = isPicture(element) ? undefined : fileOf(attachment);
    if (file === undefined) return withoutAddress(attachment);
    const { _url, ...rest } = attachment;
    return {
      ...rest,
      contentType: file.contentType,
      url: `Binary/${file.id}`,
    };
  });
  return addressed === resource ? resource : (canonical(addressed) as Json);
}

/**
 * Makes our relative addresses of attachments absolute, as bulk clients need
 * them. @param base URL of the FHIR API
 */
export const withAddressesAt = (base: string, resource: Json): Json =>
  withAttachments(resource, (attachment) =>
    textOf(attachment.url)?.startsWith('Binary/') === true
      ? { ...attachment, url: `${base}/${attachment.url}` }
      : attachment,
  );

function filesFor(
  attachments: readonly Json[],
  held: readonly HeldDocument[],
): (attachment: Json) => HeldDocument | undefined {
  if (held.length === 0) return () => undefined;
  const hashes = new Map(
    attachments.flatMap(({ data }) =>
      typeof data === 'string' ? [[data, hashOf(data)] as const] : [],
    ),
  );
  const inline = new Set(hashes.values());
  const wanting = attachments.filter(({ data }) => data === undefined);
  const files = held.filter(({ sha256 }) => !inline.has(sha256));
  return (attachment) => {
    if (attachment.data === undefined)
      return fileOf(attachment, wanting, files);
    const own = hashes.get(textOf(attachment.data) ?? '');
    return held.find(({ sha256 }) => sha256 === own);
  };
}

/**
 * The file of an attachment: the only file of the only attachment, or the only
 * file of a type that no other attachment has, or of several the only one of
 * the size that only this attachment gives. In doubt none: a reader must not
 * open another document.
 */
function fileOf(
  attachment: Json,
  wanting: readonly Json[],
  files: readonly HeldDocument[],
): HeldDocument | undefined {
  if (wanting.length === 1 && files.length === 1) return files[0];
  const typed = files.filter(
    ({ contentType }) => typeOf(contentType) === typeOf(attachment.contentType),
  );
  const rivals = wanting.filter(
    ({ contentType }) => typeOf(contentType) === typeOf(attachment.contentType),
  );
  if (typed.length === 1 && rivals.length === 1) return typed[0];
  const sized = typed.filter(({ sizeBytes }) => sizeBytes === attachment.size);
  return sized.length === 1 &&
    rivals.filter(({ size }) => size === attachment.size).length === 1
    ? sized[0]
    : undefined;
}

function withoutAddress(attachment: Json): Json {
  if (attachment.url === undefined) return attachment;
  const { url: _theirs, ...rest } = attachment;
  return rest.data === undefined ? { ...rest, _url: unknownElement() } : rest;
}

const typeOf = (value: unknown): string =>
  (textOf(value) ?? '').split(';')[0]?.trim().toLowerCase() ?? '';

const hashOf = (data: string): string =>
  createHash('sha256').update(Buffer.from(data, 'base64')).digest('hex');
