import { createHash } from 'node:crypto';
import { canonical, isJson, type Json, textOf } from '#record-summary/fhir';
import { lookupTable } from '../../../lib/lookup-table.ts';
import { unknownElement } from './us-core/named-rules.ts';

/** A stored file that was delivered for a DocumentReference. */
export interface HeldDocument {
  id: string;
  contentType: string;
  sizeBytes: number;
  /** SHA-256, hex. */
  sha256: string;
}

/**
 * Elements with attachments, by type. Sources' addresses in them are never
 * ours: only a DocumentReference's files are collected.
 */
const ATTACHMENTS: Readonly<Record<string, string>> = lookupTable({
  Consent: 'sourceAttachment',
  DiagnosticReport: 'presentedForm',
  Media: 'content',
  Practitioner: 'photo',
  RelatedPerson: 'photo',
});

/**
 * Replaces the sources' addresses of attachments, which a reader could not
 * fetch: by `Binary/<id>` of the FHIR API where the document is stored,
 * otherwise by the statement that the address is unknown. `withAddressesAt`
 * makes them absolute.
 */
export function withOurAddresses(
  resource: Json,
  held: readonly HeldDocument[],
): Json {
  const type = textOf(resource.resourceType) ?? '';
  if (type === 'DocumentReference' && Array.isArray(resource.content))
    return canonical({
      ...resource,
      content: contentsWithAddresses(resource.content, held),
    }) as Json;
  const element = ATTACHMENTS[type];
  const value = element === undefined ? undefined : resource[element];
  if (element === undefined || value === undefined) return resource;
  const own = Array.isArray(value)
    ? value.map(withoutAddress)
    : withoutAddress(value);
  return canonical({ ...resource, [element]: own }) as Json;
}

/**
 * Makes our relative addresses of attachments absolute, as bulk clients need
 * them. @param base URL of the FHIR API
 */
export function withAddressesAt(base: string, resource: Json): Json {
  if (
    resource.resourceType !== 'DocumentReference' ||
    !Array.isArray(resource.content)
  )
    return resource;
  const content = resource.content.map((each: unknown) => {
    if (!isJson(each) || !isJson(each.attachment)) return each;
    const { url } = each.attachment;
    return typeof url === 'string' && url.startsWith('Binary/')
      ? { ...each, attachment: { ...each.attachment, url: `${base}/${url}` } }
      : each;
  });
  return { ...resource, content };
}

function contentsWithAddresses(
  contents: readonly unknown[],
  held: readonly HeldDocument[],
): unknown[] {
  const attachments = contents.map((each) =>
    isJson(each) && isJson(each.attachment) ? each.attachment : {},
  );
  const hashes = attachments.map(({ data }) =>
    typeof data === 'string' ? hashOf(data) : undefined,
  );
  const wanting = attachments.filter(({ data }) => data === undefined);
  const files = held.filter(({ sha256 }) => !hashes.includes(sha256));
  return contents.map((each, index) => {
    const attachment = attachments[index] ?? {};
    if (
      !isJson(each) ||
      (each.attachment !== undefined && !isJson(each.attachment))
    )
      return each;
    const file =
      attachment.data === undefined
        ? fileOf(attachment, wanting, files)
        : held.find(({ sha256 }) => sha256 === hashes[index]);
    if (file === undefined)
      return each.attachment === undefined
        ? each
        : { ...each, attachment: withoutAddress(attachment) };
    const { _url, ...rest } = attachment;
    return {
      ...each,
      attachment: {
        ...rest,
        contentType: file.contentType,
        url: `Binary/${file.id}`,
      },
    };
  });
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

function withoutAddress(attachment: unknown): unknown {
  if (!isJson(attachment) || attachment.url === undefined) return attachment;
  const { url: _theirs, ...rest } = attachment;
  return rest.data === undefined ? { ...rest, _url: unknownElement() } : rest;
}

const typeOf = (value: unknown): string =>
  (textOf(value) ?? '').split(';')[0]?.trim().toLowerCase() ?? '';

const hashOf = (data: string): string =>
  createHash('sha256').update(Buffer.from(data, 'base64')).digest('hex');
