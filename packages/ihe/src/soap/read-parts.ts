import { IheError } from '../ihe-error.ts';
import { type ContentType, readContentType } from '../mime/content-type.ts';
import { type MimeEvent, MimeSplitter } from '../mime/mime-splitter.ts';
import { bareContentId, type PartHeaders } from '../mime/part-headers.ts';
import {
  type TransferDecoder,
  transferDecoder,
} from '../mime/transfer-decoder.ts';
import type { AttachmentStore, MessageAttachment } from './attachments.ts';

/** A message as it came over the wire. */
export interface WireMessage<Stored> {
  /** The XML with the envelope. */
  root: RootPart;
  attachments: readonly MessageAttachment<Stored>[];
  /** False when a multipart message has no closing boundary. */
  isComplete: boolean;
}

export interface RootPart {
  bytes: Buffer;
  contentType: ContentType;
}

export interface WireLimits {
  /** All bytes of the message. */
  bytes: number;
  /** Bytes of the XML. */
  xmlBytes: number;
  parts: number;
}

/**
 * Reads a message part by part: its XML into memory, attachments into a store.
 * Whether it is multipart is told by its first bytes.
 *
 * @throws {IheError} `too-large`, `cut` or `mime.malformed`
 */
export async function readParts<Stored>(
  message: AsyncIterable<Uint8Array>,
  announced: ContentType,
  store: AttachmentStore<Stored>,
  limits: WireLimits,
): Promise<WireMessage<Stored>> {
  let start: Buffer | undefined = Buffer.alloc(0);
  let xml: BoundedBytes | undefined;
  let multipart: MultipartReader<Stored> | undefined;
  let length = 0;

  const take = async (bytes: Buffer) => {
    if (multipart !== undefined) await multipart.push(bytes);
    else xml?.add(bytes);
  };
  const begin = async (bytes: Buffer) => {
    if (isMultipart(bytes, announced))
      multipart = new MultipartReader(announced, store, limits);
    else xml = new BoundedBytes(limits.xmlBytes);
    await take(bytes);
  };

  for await (const chunk of message) {
    length += chunk.byteLength;
    if (length > limits.bytes) throw tooLarge(`${limits.bytes} bytes`);
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    if (start === undefined) {
      await take(bytes);
      continue;
    }
    start = Buffer.concat([start, bytes]);
    if (!showsKind(start)) continue;
    await begin(start);
    start = undefined;
  }
  if (start !== undefined) await begin(start);

  return multipart === undefined
    ? {
        root: { bytes: xml?.joined() ?? NOTHING, contentType: announced },
        attachments: [],
        isComplete: true,
      }
    : await multipart.end();
}

const NOTHING = Buffer.alloc(0);

/** Whether enough has arrived to tell XML from a multipart message. */
const showsKind = (start: Buffer): boolean =>
  start.toString('latin1', 0, 1_000).trimStart().length >= 2 ||
  start.length >= 1_000;

/** Some announce multipart and send XML, or the other way round. */
function isMultipart(start: Buffer, { type }: ContentType): boolean {
  const text = start.toString('latin1', 0, 1_000).trimStart();
  if (text.startsWith('--')) return true;
  const isXml = text.startsWith('<') || /^[\0\xEF\xFE\xFF]/.test(text);
  return !isXml && text !== '' && type.startsWith('multipart/');
}

class MultipartReader<Stored> {
  readonly #splitter: MimeSplitter;
  readonly #start: string | undefined;
  readonly #store: AttachmentStore<Stored>;
  readonly #limits: WireLimits;
  readonly #attachments: MessageAttachment<Stored>[] = [];
  /** Parts that may have the envelope. */
  readonly #candidates: MessageAttachment<Buffer>[] = [];
  #count = 0;
  #open: OpenPart | undefined;

  constructor(
    { parameters }: ContentType,
    store: AttachmentStore<Stored>,
    limits: WireLimits,
  ) {
    this.#splitter = new MimeSplitter(parameters.boundary);
    this.#start = parameters.start && bareContentId(parameters.start);
    this.#store = store;
    this.#limits = limits;
  }

  push(chunk: Buffer): Promise<void> {
    return this.#take(this.#splitter.push(chunk));
  }

  async end(): Promise<WireMessage<Stored>> {
    await this.#take(this.#splitter.end());
    const isComplete = this.#splitter.isClosed;
    const root = this.#root();
    if (root === undefined)
      throw isComplete
        ? new IheError('mime.malformed', 'No part has the SOAP message.')
        : new IheError('cut', 'The message ends before its SOAP message.');

    for (const each of this.#candidates)
      if (each !== root) this.#attachments.push(await this.#stored(each));
    return {
      root: {
        bytes: root.stored,
        contentType: readContentType(root.contentType),
      },
      attachments: this.#attachments,
      isComplete,
    };
  }

  /** The part that `start` names; without it, the first (RFC 2387). */
  #root(): MessageAttachment<Buffer> | undefined {
    const named = this.#candidates.find(
      ({ contentId }) => contentId === this.#start,
    );
    return (
      (this.#start === undefined ? undefined : named) ??
      this.#candidates.find(({ contentType }) => isSoapType(contentType)) ??
      this.#candidates[0]
    );
  }

  async #take(events: Iterable<MimeEvent>): Promise<void> {
    for (const event of events) {
      if (event.kind === 'headers') this.#open = this.#opened(event.headers);
      else if (event.kind === 'bytes') await this.#open?.write(event.bytes);
      else await this.#open?.close(event.isComplete);
    }
  }

  #opened(headers: PartHeaders): OpenPart {
    this.#count += 1;
    if (this.#count > this.#limits.parts)
      throw tooLarge(`${this.#limits.parts} parts`);
    const part = describePart(headers);
    const decoder = transferDecoder(headers['content-transfer-encoding']);
    return this.#mayBeRoot(part)
      ? openPart(part, decoder, {
          store: inMemoryWithin(this.#limits.xmlBytes),
          found: this.#candidates,
        })
      : openPart(part, decoder, {
          store: this.#store,
          found: this.#attachments,
        });
  }

  #mayBeRoot({ contentId, contentType }: PartDescription): boolean {
    if (contentId !== undefined && contentId === this.#start) return true;
    const isFirst = this.#count === 1;
    const isOfNoOtherType =
      contentType === undefined || /xml/i.test(contentType);
    return isSoapType(contentType) || (isFirst && isOfNoOtherType);
  }

  /** Hands a part over that has turned out to be an attachment. */
  async #stored(
    candidate: MessageAttachment<Buffer>,
  ): Promise<MessageAttachment<Stored>> {
    const sink = this.#store(candidate);
    await sink.write(candidate.stored);
    return { ...candidate, stored: await sink.close(candidate.isComplete) };
  }
}

interface PartDescription {
  contentId: string | undefined;
  contentType: string | undefined;
}

function describePart(headers: PartHeaders): PartDescription {
  const contentId = headers['content-id'];
  return {
    contentId: contentId === undefined ? undefined : bareContentId(contentId),
    contentType: headers['content-type'],
  };
}

const isSoapType = (contentType: string | undefined): boolean =>
  /^application\/(?:xop|soap)\+xml/i.test(contentType ?? '');

interface OpenPart {
  write(bytes: Buffer): Promise<void>;
  close(isComplete: boolean): Promise<void>;
}

function openPart<Stored>(
  part: PartDescription,
  decoder: TransferDecoder,
  into: { store: AttachmentStore<Stored>; found: MessageAttachment<Stored>[] },
): OpenPart {
  const sink = into.store(part);
  let length = 0;
  const write = async (bytes: Buffer) => {
    if (bytes.length === 0) return;
    length += bytes.length;
    await sink.write(bytes);
  };
  return {
    write: (bytes) => write(decoder.decode(bytes)),
    async close(isComplete) {
      await write(decoder.finish());
      const stored = await sink.close(isComplete);
      into.found.push({ ...part, length, isComplete, stored });
    },
  };
}

/** Bytes in memory, up to a limit. */
class BoundedBytes {
  readonly #chunks: Buffer[] = [];
  readonly #limit: number;
  #length = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  add(bytes: Buffer): void {
    this.#length += bytes.length;
    if (this.#length > this.#limit)
      throw tooLarge(`${this.#limit} bytes of XML`);
    this.#chunks.push(bytes);
  }

  joined(): Buffer {
    return Buffer.concat(this.#chunks);
  }
}

function inMemoryWithin(limit: number): AttachmentStore<Buffer> {
  return () => {
    const bytes = new BoundedBytes(limit);
    return { write: (chunk) => bytes.add(chunk), close: () => bytes.joined() };
  };
}

const tooLarge = (what: string): IheError =>
  new IheError('too-large', `The message has more than ${what}.`);
