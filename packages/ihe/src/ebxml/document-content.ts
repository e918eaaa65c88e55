import { XOP } from '../namespaces.ts';
import { type XmlFragment, xml } from '../xml/write-xml.ts';
import {
  attributeOf,
  firstNamed,
  type XmlElement,
} from '../xml/xml-element.ts';

/**
 * Where the bytes of a document are. A document without any is never one of 0
 * bytes.
 */
export type DocumentContent =
  /** In the message itself. */
  | { in: 'message'; bytes: Buffer }
  /** In another part of the message: `cid:…`, which `Envelope.attachment` finds. */
  | { in: 'attachment'; reference: string }
  /** Nowhere: the element is empty, or holds text that is not base64. */
  | { in: 'nowhere'; reason: 'empty' | 'not-base64' };

/** Reads a `Document` element: base64, or a reference to an attachment. */
export function readDocumentContent(
  element: XmlElement | undefined,
): DocumentContent {
  const href = attributeOf(firstNamed(element, XOP, 'Include'), 'href');

  if (href !== undefined) {
    return { in: 'attachment', reference: href };
  }

  const base64 = (element?.text ?? '').replace(/\s+/g, '');

  // Some write the reference as the element's text.
  if (/^cid:/i.test(base64)) return { in: 'attachment', reference: base64 };
  if (base64 === '') return { in: 'nowhere', reason: 'empty' };
  if (!isBase64(base64)) return { in: 'nowhere', reason: 'not-base64' };

  return { in: 'message', bytes: Buffer.from(base64, 'base64') };
}

/** What is written into a `Document` element. */
export type DocumentToWrite =
  | { bytes: Uint8Array }
  /** The Content-ID of the attachment, without angle brackets. */
  | { contentId: string };

/** Writes the content of a `Document` element. */
export function writeDocumentContent(content: DocumentToWrite): XmlFragment {
  if ('bytes' in content) {
    return xml`${Buffer.from(content.bytes).toString('base64')}`;
  }

  const href = `cid:${encodeURIComponent(content.contentId).replaceAll('%40', '@')}`;

  return xml`<xop:Include xmlns:xop="${XOP}" href="${href}"/>`;
}

/** Whether all of the text is base64, with or without its padding. */
function isBase64(text: string): boolean {
  return (
    /^[A-Za-z0-9+/]+={0,2}$/.test(text) &&
    text.replace(/=+$/, '').length % 4 !== 1
  );
}
