import { randomUUID } from 'node:crypto';
import type { MessageBytes } from './read-envelope.ts';

/** A document to send beside the XML, which refers to it by `cid:<contentId>`. */
export interface OutgoingAttachment {
  /** Without brackets. */
  contentId: string;
  contentType: string;
  bytes: MessageBytes;
}

/** A message as HTTP sends it. */
export interface OutgoingMessage {
  contentType: string;
  body: AsyncIterable<Uint8Array>;
}

/** Writes an envelope as it is. */
export function plainMessage(
  envelope: string,
  action: string,
): OutgoingMessage {
  return {
    contentType: `application/soap+xml; charset=UTF-8; action="${action}"`,
    body: bytesOf(Buffer.from(envelope)),
  };
}

/**
 * Writes an envelope with attachments, or with none, as MTOM has it. The
 * attachments are read while they are sent.
 */
export function mtomMessage(
  envelope: string,
  action: string,
  attachments: readonly OutgoingAttachment[] = [],
): OutgoingMessage {
  const boundary = `uuid:${randomUUID()}`;
  const root = 'root.message@medical-data-exchange';
  return {
    contentType: `multipart/related; type="application/xop+xml"; boundary="${boundary}"; start="<${root}>"; start-info="application/soap+xml"; action="${action}"`,
    body: multipartOf(boundary, [
      {
        contentId: root,
        contentType:
          'application/xop+xml; charset=UTF-8; type="application/soap+xml"',
        bytes: Buffer.from(envelope),
      },
      ...attachments,
    ]),
  };
}

async function* multipartOf(
  boundary: string,
  parts: readonly OutgoingAttachment[],
): AsyncGenerator<Uint8Array> {
  for (const { contentId, contentType, bytes } of parts) {
    const head = [
      `--${boundary}`,
      `Content-Type: ${inOneLine(contentType)}`,
      'Content-Transfer-Encoding: binary',
      `Content-ID: <${inOneLine(contentId)}>`,
    ].join('\r\n');
    yield Buffer.from(`${head}\r\n\r\n`);
    yield* bytesOf(bytes);
    yield Buffer.from('\r\n');
  }
  yield Buffer.from(`--${boundary}--\r\n`);
}

/** A header must not begin another one. */
const inOneLine = (value: string): string => value.replaceAll(/[\r\n]+/g, ' ');

async function* bytesOf(bytes: MessageBytes): AsyncGenerator<Uint8Array> {
  if (bytes instanceof Uint8Array) yield bytes;
  else yield* bytes;
}
