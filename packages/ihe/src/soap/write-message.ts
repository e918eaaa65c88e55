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
  /** In bytes; undefined when an attachment is still to be read. */
  contentLength: number | undefined;
  body: AsyncIterable<Uint8Array>;
}

/** Writes an envelope as it is. */
export function plainMessage(
  envelope: string,
  action: string,
): OutgoingMessage {
  return {
    contentType: `application/soap+xml; charset=UTF-8; action="${action}"`,
    contentLength: Buffer.byteLength(envelope),
    body: bytesOf([Buffer.from(envelope)]),
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
  const root: OutgoingAttachment = {
    contentId: 'root.message@medical-data-exchange',
    contentType:
      'application/xop+xml; charset=UTF-8; type="application/soap+xml"',
    bytes: Buffer.from(envelope),
  };
  const pieces = [
    ...[root, ...attachments].flatMap((part) => [
      headOf(boundary, part),
      part.bytes,
      Buffer.from('\r\n'),
    ]),
    Buffer.from(`--${boundary}--\r\n`),
  ];
  return {
    contentType: `multipart/related; type="application/xop+xml"; boundary="${boundary}"; start="<${root.contentId}>"; start-info="application/soap+xml"; action="${action}"`,
    contentLength: lengthOf(pieces),
    body: bytesOf(pieces),
  };
}

function headOf(
  boundary: string,
  { contentType, contentId }: OutgoingAttachment,
): Buffer {
  const lines = [
    `--${boundary}`,
    `Content-Type: ${inOneLine(contentType)}`,
    'Content-Transfer-Encoding: binary',
    `Content-ID: <${inOneLine(contentId)}>`,
  ];
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n`);
}

/** A header must not begin another one. */
const inOneLine = (value: string): string => value.replaceAll(/[\r\n]+/g, ' ');

function lengthOf(pieces: readonly MessageBytes[]): number | undefined {
  let length = 0;
  for (const piece of pieces) {
    if (!(piece instanceof Uint8Array)) return undefined;
    length += piece.byteLength;
  }
  return length;
}

async function* bytesOf(
  pieces: readonly MessageBytes[],
): AsyncGenerator<Uint8Array> {
  for (const piece of pieces) {
    if (piece instanceof Uint8Array) yield piece;
    else yield* piece;
  }
}
