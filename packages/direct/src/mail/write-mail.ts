import MailComposer, {
  type MailComposerAttachment,
} from 'nodemailer/lib/mail-composer';
import { type ContextToWrite, writeContext } from '../context/write-context.ts';

/** A file to send. */
export interface AttachmentToWrite {
  fileName: string;
  contentType: string;
  content: Buffer;
}

/** A Direct message to send. */
export interface MailToWrite {
  /** Without brackets; the same id again is the same message. */
  messageId: string;

  from: string;
  to: readonly string[];
  sentAt: Date;
  subject: string;
  text?: string | undefined;
  attachments?: readonly AttachmentToWrite[] | undefined;
  context?: ContextToWrite | undefined;

  /**
   * Asks the receiver to say that the message reached its final destination,
   * or did not ("Delivery Notification in Direct", 1.3).
   */
  asksForDispatched?: boolean | undefined;
}

/** Writes the message as mail, which is signed and encrypted as it is. */
export function writeMail(mail: MailToWrite): Promise<Buffer> {
  const { messageId, sentAt, subject, text = '', context } = mail;
  const contextId = `context.${messageId}`;

  return new MailComposer({
    messageId: `<${messageId}>`,
    date: sentAt,
    from: mail.from,
    to: [...mail.to],
    subject,
    text,
    newline: 'win',
    disableFileAccess: true,
    disableUrlAccess: true,
    headers: {
      ...(context && { 'X-Direct-Context': `<${contextId}>` }),
      ...(mail.asksForDispatched && DISPATCHED),
    },
    attachments: [
      ...(context ? [contextAttachment(context, contextId)] : []),
      ...(mail.attachments ?? []).map(mailAttachment),
    ],
  })
    .compile()
    .build();
}

const DISPATCHED = {
  'Disposition-Notification-Options':
    'X-DIRECT-FINAL-DESTINATION-DELIVERY=optional,true',
};

function mailAttachment({
  fileName,
  contentType,
  content,
}: AttachmentToWrite): MailComposerAttachment {
  return {
    filename: fileName,
    contentType,
    content,
    contentTransferEncoding: 'base64',
  };
}

function contextAttachment(
  context: ContextToWrite,
  contextId: string,
): MailComposerAttachment {
  return {
    filename: 'metadata.txt',
    contentType: 'text/plain; charset=utf-8',
    content: writeContext(context),
    headers: { 'Content-ID': `<${contextId}>` },
  };
}
