import { IheError } from '../ihe-error.ts';
import { readContentType } from '../mime/content-type.ts';
import { bareContentId } from '../mime/part-headers.ts';
import { SOAP, SOAP_1_1, WSA, WSA_2004, WSDL } from '../namespaces.ts';
import type { XmlRemark } from '../xml/decode-xml.ts';
import {
  type ReadXmlOptions,
  readXml,
  XML_LIMITS,
  type XmlLimits,
} from '../xml/read-xml.ts';
import {
  firstNamed,
  isNamed,
  type XmlElement,
  xmlText,
} from '../xml/xml-element.ts';
import {
  type AttachmentStore,
  attachmentsInMemory,
  type MessageAttachment,
} from './attachments.ts';
import { readParts, type WireMessage } from './read-parts.ts';
import { readSoapFault, type SoapFault } from './soap-fault.ts';

/** A SOAP message that was read. */
export interface Envelope<Stored = Buffer> {
  /** What the WS-Addressing header says; ids as the sender wrote them. */
  action: string | undefined;
  messageId: string | undefined;
  relatesTo: string | undefined;
  to: string | undefined;
  /** The address that an answer goes to. */
  replyTo: string | undefined;
  header: XmlElement | undefined;
  /** The element `Body`. */
  body: XmlElement;
  /** The first element in the body: the message itself, or a fault. */
  payload: XmlElement | undefined;
  fault: SoapFault | undefined;
  /** The XML as it came: what signatures are verified over. */
  source: Buffer;
  /** The charset that the Content-Type of the XML names. */
  charset: string | undefined;
  /** Finds an attachment by a Content-ID or by what refers to it (`cid:…`). */
  attachment(reference: string): MessageAttachment<Stored> | undefined;
  attachments: readonly MessageAttachment<Stored>[];
  /** False when a multipart message has no closing boundary. */
  isComplete: boolean;
  /** What was odd, and read nevertheless. */
  remarks: readonly XmlRemark[];
}

/** How large a message may be. */
export interface MessageLimits {
  /** All bytes of the message. */
  bytes: number;
  /** Parts of a multipart message, its XML among them. */
  parts: number;
  xml: Partial<XmlLimits>;
}

export const MESSAGE_LIMITS: MessageLimits = {
  bytes: 512 * 1024 * 1024,
  parts: 1_000,
  xml: {},
};

export interface ReadEnvelopeOptions<Stored> {
  limits?: Partial<MessageLimits>;
  /** Left out, attachments are kept in memory. */
  store?: AttachmentStore<Stored>;
}

/** The bytes of a message: at hand, or still arriving. */
export type MessageBytes = Uint8Array | AsyncIterable<Uint8Array>;

/**
 * Reads a SOAP message, 1.2 or 1.1, with or without attachments (MTOM, XOP).
 * What the bytes are decides, not what the Content-Type announces.
 *
 * @param contentType the header of the HTTP message
 * @throws {IheError} `empty`, `html`, `wsdl`, `not-soap`, `cut`, `too-large`,
 *   `mime.malformed` or one that `readXml` throws
 */
export async function readEnvelope(
  message: MessageBytes,
  contentType: string | undefined,
): Promise<Envelope>;
export async function readEnvelope<Stored>(
  message: MessageBytes,
  contentType: string | undefined,
  options: ReadEnvelopeOptions<Stored> & { store: AttachmentStore<Stored> },
): Promise<Envelope<Stored>>;
export async function readEnvelope(
  message: MessageBytes,
  contentType: string | undefined,
  options?: ReadEnvelopeOptions<Buffer>,
): Promise<Envelope>;
export async function readEnvelope(
  message: MessageBytes,
  contentType: string | undefined,
  options: ReadEnvelopeOptions<unknown> = {},
): Promise<Envelope<unknown>> {
  const limits = { ...MESSAGE_LIMITS, ...options.limits };
  const wire = await readParts(
    message instanceof Uint8Array ? inOnePiece(message) : message,
    readContentType(contentType),
    options.store ?? attachmentsInMemory,
    {
      bytes: limits.bytes,
      xmlBytes: limits.xml.bytes ?? XML_LIMITS.bytes,
      parts: limits.parts,
    },
  );

  const remarks: XmlRemark[] = [];
  const root = readRoot(wire, {
    limits: limits.xml,
    remark: (remark) => remarks.push(remark),
  });
  return { ...envelopeOf(root), ...wireFacts(wire), remarks };
}

async function* inOnePiece(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

function readRoot(
  { root, isComplete }: WireMessage<unknown>,
  options: ReadXmlOptions,
): XmlElement {
  const { bytes, contentType } = root;
  if (isBlank(bytes)) throw new IheError('empty', 'The message is empty.');
  if (isPage(bytes, contentType.type)) throw pageInstead();
  try {
    return readXml(bytes, {
      ...options,
      charset: contentType.parameters.charset,
    });
  } catch (error) {
    if (isComplete || !isNotWellFormed(error)) throw error;
    throw new IheError('cut', 'The message ends within its XML.');
  }
}

const isBlank = (bytes: Buffer): boolean =>
  bytes.toString('latin1', 0, 1_000).trim() === '';

const isNotWellFormed = (error: unknown): boolean =>
  error instanceof IheError && error.code === 'xml.not-well-formed';

/** Pages are told by their start: some say of themselves that they are XML. */
function isPage(bytes: Buffer, type: string): boolean {
  const start = bytes.toString('latin1', 0, 1_000);
  if (/^[^<]{0,10}<(?:!doctype\s+html|html)[\s>]/i.test(start)) return true;
  const isPageType = type === 'text/html' || type === 'text/plain';
  return isPageType && !/[:<]Envelope[\s>]/.test(start);
}

function envelopeOf(
  root: XmlElement,
): Pick<
  Envelope,
  | 'action'
  | 'messageId'
  | 'relatesTo'
  | 'to'
  | 'replyTo'
  | 'header'
  | 'body'
  | 'payload'
  | 'fault'
> {
  const soap = [SOAP, SOAP_1_1].find((each) => isNamed(root, each, 'Envelope'));
  const body = firstNamed(root, soap ?? SOAP, 'Body');
  if (soap === undefined || body === undefined) throw whatElse(root);

  const header = firstNamed(root, soap, 'Header');
  const addressed = (...path: readonly [string, ...string[]]) =>
    xmlText(firstNamed(header, WSA, ...path)) ??
    xmlText(firstNamed(header, WSA_2004, ...path));
  const [payload] = body.children;
  return {
    action: addressed('Action'),
    messageId: addressed('MessageID'),
    relatesTo: addressed('RelatesTo'),
    to: addressed('To'),
    replyTo: addressed('ReplyTo', 'Address'),
    header,
    body,
    payload,
    fault: readSoapFault(payload),
  };
}

const pageInstead = (): IheError =>
  new IheError('html', 'A page came instead of a message.');

/** What XML that is no message is. */
function whatElse(root: XmlElement): IheError {
  if (WSDL.includes(root.namespace))
    return new IheError(
      'wsdl',
      'The description of a service came instead of a message.',
    );
  return root.name.toLowerCase() === 'html'
    ? pageInstead()
    : new IheError('not-soap', 'The XML is no SOAP message.');
}

function wireFacts<Stored>({
  root,
  attachments,
  isComplete,
}: WireMessage<Stored>): Pick<
  Envelope<Stored>,
  'source' | 'charset' | 'attachment' | 'attachments' | 'isComplete'
> {
  const byId = new Map(
    attachments.map((each) => [each.contentId, each] as const),
  );
  return {
    source: root.bytes,
    charset: root.contentType.parameters.charset,
    attachments,
    attachment: (reference) => byId.get(bareContentId(reference)),
    isComplete,
  };
}
