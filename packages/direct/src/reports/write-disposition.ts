import MailComposer from 'nodemailer/lib/mail-composer';

/** A notification to the sender of a message that we received. */
export interface DispositionToWrite {
  /** Of the notification, without brackets. */
  messageId: string;

  /** The recipient, who notifies. */
  from: string;

  /** The sender of the message. */
  to: string;

  sentAt: Date;

  /** The id of the message that it is about, without brackets. */
  about: string;

  disposition: 'processed' | 'dispatched' | 'failed' | 'denied';

  /** For whom the message was, if it is not who notifies. */
  recipient?: string | undefined;

  /** Why it failed or was denied: a sentence that tells nothing of the message. */
  reason?: string | undefined;

  /** `direct.example.org; Medical data exchange` */
  reportingAgent: string;
}

/**
 * Writes a disposition notification (RFC 8098), which is signed and encrypted
 * as any message. Its subject says nothing of the message.
 */
export function writeDisposition(report: DispositionToWrite): Promise<Buffer> {
  const { from, to, sentAt, about, disposition } = report;
  const { recipient = from, reason } = report;
  const fields = [
    `Reporting-UA: ${report.reportingAgent}`,
    `Final-Recipient: rfc822;${recipient}`,
    `Original-Message-ID: <${about}>`,
    `Disposition: automatic-action/MDN-sent-automatically;${disposition}`,
    ...(reason === undefined ? [] : [`Failure: ${reason}`]),
  ];
  const mail = new MailComposer({
    messageId: `<${report.messageId}>`,
    inReplyTo: `<${about}>`,
    date: sentAt,
    from,
    to,
    subject: `Delivery notification: ${disposition}`,
    newline: 'win',
    text: [SENTENCES[disposition], reason].filter(Boolean).join(' '),
    attachments: [
      {
        contentType: 'message/disposition-notification',
        contentTransferEncoding: '7bit',
        contentDisposition: 'inline',
        filename: false,
        content: `${fields.join('\r\n')}\r\n`,
      },
    ],
  }).compile();
  mail.setHeader(
    'Content-Type',
    'multipart/report; report-type=disposition-notification',
  );

  return mail.build();
}

const SENTENCES = {
  processed: 'The message was received.',
  dispatched: 'The message was delivered to its recipient.',
  failed: 'The message could not be delivered to its recipient.',
  denied: 'The recipient does not take the message.',
} as const satisfies Record<DispositionToWrite['disposition'], string>;
