import {
  DirectError,
  type DirectMail,
  fileOfXdm,
  type MailAttachment,
  readXdm,
  XDM_LIMITS,
  XDM_SUBJECT,
  type XdmPackage,
} from '#direct';
import { IheError, readMediaMetadata, readXml } from '#ihe';
import {
  MESSAGE_ATTACHMENT_BYTES_MAX,
  MESSAGE_ATTACHMENTS_MAX,
} from '../../../../contract/messages.ts';
import type { ReceivedAttachment } from '../take-message.ts';
import {
  readSubmittedMessage,
  type SubmittedMessage,
} from '../xdr/read-submitted-message.ts';

/** What a mail has in its package of documents. */
export interface OpenedPackage extends Omit<SubmittedMessage, 'faults'> {
  /** The files of the mail beside the package. */
  others: MailAttachment[];
}

/** Why a mail is not taken, as its sender is told. */
export interface Refusal {
  refusal: string;
}

/**
 * Opens the package of documents (XDM) that a mail may have; undefined for one
 * without. A package is taken whole or not at all.
 */
export async function openPackage({
  attachments,
}: Pick<DirectMail, 'attachments'>): Promise<
  OpenedPackage | Refusal | undefined
> {
  const others: MailAttachment[] = [];
  const packages: XdmPackage[] = [];

  try {
    for (const attachment of attachments) {
      const found = await readXdm(attachment.content, LIMITS);
      if (found === undefined) others.push(attachment);
      else packages.push(found);
    }
    const [one, ...more] = packages;
    if (one === undefined) return undefined;
    if (more.length > 0)
      return {
        refusal: 'A message has at most one package of documents (XDM).',
      };

    const { faults, ...message } = readSubmitted(one);
    const [fault] = faults;
    return fault === undefined
      ? { ...message, others }
      : { refusal: `The package of documents (XDM): ${fault.context}` };
  } catch (error) {
    if (error instanceof DirectError) return { refusal: error.message };
    if (error instanceof IheError) return { refusal: METADATA_UNREADABLE };
    throw error;
  }
}

const METADATA_UNREADABLE =
  'The metadata of the package of documents (XDM) cannot be read.';

/** What a message may have, and some pages beside its documents. */
const LIMITS = {
  ...XDM_LIMITS,
  bytes: MESSAGE_ATTACHMENT_BYTES_MAX + 5_000_000,
};

function readSubmitted(xdm: XdmPackage): SubmittedMessage {
  const limits = { bytes: LIMITS.metadataBytes, nodes: 200_000 };
  const submission = readMediaMetadata(readXml(xdm.metadata, { limits }));
  const unlisted = new Set(xdm.files);
  const message = readSubmittedMessage(submission, (uri) => {
    const file = fileOfXdm(xdm, uri);
    if (file !== undefined) unlisted.delete(file);
    return file?.content;
  });
  const attachments = [
    ...message.attachments,
    ...[...unlisted].filter(isDocument).map(unlistedAttachment),
  ];

  return { ...message, attachments };
}

/** Senders put what shows a document in a browser beside it. */
const isDocument = ({ path }: { path: string }): boolean =>
  !/\.(?:xslt?|css)$/i.test(path);

/** A file that no metadata describe is not lost either. */
const unlistedAttachment = ({
  path,
  content,
}: XdmPackage['files'][number]): ReceivedAttachment => ({
  title: path.replaceAll(/\p{C}/gu, '').slice(-255),
  contentType: 'application/octet-stream',
  content,
});

/** The subject that its sender wrote before the mail had a package. */
export const withoutXdmPrefix = (subject: string): string =>
  subject.trim().startsWith(XDM_SUBJECT)
    ? subject
        .trim()
        .slice(XDM_SUBJECT.length)
        .replace(/^[+/\s]+/, '')
    : subject;

/** Why a mail has more attached than a message may have; undefined if it has not. */
export function tooMuchAttached(
  attachments: readonly { content: Buffer }[],
): string | undefined {
  const sizeBytes = attachments.reduce(
    (sum, { content }) => sum + content.length,
    0,
  );

  return attachments.length > MESSAGE_ATTACHMENTS_MAX ||
    sizeBytes > MESSAGE_ATTACHMENT_BYTES_MAX
    ? `At most ${MESSAGE_ATTACHMENTS_MAX} attachments of ${MESSAGE_ATTACHMENT_BYTES_MAX / 1_000_000} MB in total are taken.`
    : undefined;
}
