import PostalMime, {
  type Address,
  type Attachment,
  type Email,
} from 'postal-mime';
import {
  contextReference,
  type MessageContext,
  readContext,
} from '../context/read-context.ts';
import { DirectError } from '../direct-error.ts';
import { type DeliveryReport, readReport } from '../reports/read-report.ts';
import { bareId } from './mail-ids.ts';
import { bytesOfPart } from './part-bytes.ts';

/** A file of a message. */
export interface MailAttachment {
  /** As the sender wrote it; undefined when the part has no name. */
  fileName: string | undefined;

  /** In lower case, without parameters. */
  contentType: string;

  content: Buffer;
}

/** A message as its receiver reads it. Ids have no brackets. */
export interface DirectMail {
  messageId: string | undefined;
  inReplyTo: string | undefined;

  /** Addresses without names, in lower case. */
  from: string | undefined;
  to: string[];
  cc: string[];

  subject: string | undefined;
  text: string | undefined;

  /** Without the context, and without the parts of a report. */
  attachments: MailAttachment[];

  /** What the message says about an earlier one, when it is a notification. */
  report: DeliveryReport | undefined;

  /** Whose records it is about, when the sender says so. */
  context: MessageContext | undefined;

  /** The values of a header, by its name in lower case, in their order. */
  header(name: string): string[];
}

/** A message that nests deeper, or has longer headers, is refused. */
const NESTING_MAX = 20;
const HEADERS_BYTES_MAX = 256 * 1024;

/**
 * Reads a message that is not encrypted, or was decrypted. A message within it
 * (`message/rfc822`) stays an attachment.
 *
 * @throws {DirectError} `malformed`
 */
export async function readMail(bytes: Uint8Array): Promise<DirectMail> {
  const mail = await parse(withoutByteOrderMark(bytes));
  const report = readReport(mail);
  const context = contextPart(mail);

  return {
    messageId: bareId(mail.messageId),
    inReplyTo: bareId(mail.inReplyTo),
    from: addressesOf([mail.from ?? []].flat())[0],
    to: addressesOf(mail.to ?? []),
    cc: addressesOf(mail.cc ?? []),
    subject: mail.subject,
    text: mail.text,
    attachments: mail.attachments
      .filter((each) => each !== context && !isOfReport(each, report))
      .map(readAttachment),
    report,
    context: context && readContext(bytesOfPart(context).toString('utf8')),
    header: (name) =>
      mail.headers.filter(({ key }) => key === name).map(({ value }) => value),
  };
}

async function parse(bytes: Uint8Array): Promise<Email> {
  try {
    return await PostalMime.parse(bytes, {
      attachmentEncoding: 'arraybuffer',
      forceRfc822Attachments: true,
      maxNestingDepth: NESTING_MAX,
      maxHeadersSize: HEADERS_BYTES_MAX,
    });
  } catch {
    throw new DirectError('malformed', 'The message cannot be read as mail.');
  }
}

/** Some agents begin a message with it, and the first header is then lost. */
function withoutByteOrderMark(bytes: Uint8Array): Uint8Array {
  const isMarked = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;

  return isMarked ? bytes.subarray(3) : bytes;
}

function contextPart({ headers, attachments }: Email): Attachment | undefined {
  const named = headers.find(({ key }) => key === 'x-direct-context');
  if (named === undefined) return undefined;

  const reference = contextReference(named.value);

  return attachments.find(({ contentId }) => bareId(contentId) === reference);
}

function isOfReport(
  { mimeType }: Attachment,
  report: DeliveryReport | undefined,
): boolean {
  return report !== undefined && REPORT_PARTS.has(mimeType);
}

const REPORT_PARTS = new Set([
  'message/disposition-notification',
  'message/delivery-status',
  'message/rfc822',
  'text/rfc822-headers',
]);

function readAttachment(attachment: Attachment): MailAttachment {
  return {
    fileName: attachment.filename ?? undefined,
    contentType: attachment.mimeType,
    content: bytesOfPart(attachment),
  };
}

function addressesOf(addresses: readonly Address[]): string[] {
  return addresses
    .flatMap((each) => each.group ?? [each])
    .flatMap(({ address }) => (address ? [address.toLowerCase()] : []));
}
