import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type DirectMail, writeDisposition } from '#direct';
import { behaviourOf } from './behaviours.ts';
import type { MailFolder } from './mail-folder.ts';

type Disposition = Parameters<typeof writeDisposition>[0]['disposition'];

const STRANGER = 'mallory@direct.elsewhere.example';

/**
 * Answers a message that was taken, as the system of its recipient: with
 * notifications into the sender's inbox.
 *
 * @param delayMs between what is said first and what is said after it
 */
export async function answerMail(
  inbox: MailFolder,
  { messageId, from }: DirectMail,
  recipient: string,
  delayMs: number,
): Promise<void> {
  if (messageId === undefined || from === undefined) return;
  const notify = async (disposition: Disposition, by = recipient) =>
    inbox.deliver(
      await writeDisposition({
        messageId: `${randomUUID()}@direct.simulated.example`,
        from: by,
        to: from,
        sentAt: new Date(),
        about: messageId,
        disposition,
        recipient,
        reportingAgent: 'direct.simulated.example; Simulator',
      }),
    );

  switch (behaviourOf(recipient)) {
    case 'silent':
      return;
    case 'failing':
      return notify('failed');
    case 'denying':
      return notify('denied');
    case 'bouncing':
      return inbox.deliver(writeBounce(messageId, from, recipient));
    case 'changing':
      await notify('processed');
      await sleep(delayMs, undefined, { ref: false });
      return notify('failed');
    case 'repeating':
      await notify('processed');
      return notify('processed');
    case 'forged':
      await notify('failed', STRANGER);
      return notify('processed');
    default:
      return notify('processed');
  }
}

/** A delivery status notification (RFC 3464), whose subject says otherwise. */
function writeBounce(messageId: string, to: string, recipient: string): Buffer {
  const boundary = randomUUID();

  return Buffer.from(
    [
      `From: postmaster@direct.simulated.example`,
      `To: ${to}`,
      `Message-ID: <${randomUUID()}@direct.simulated.example>`,
      `In-Reply-To: <${messageId}>`,
      'Subject: Success',
      'MIME-Version: 1.0',
      `Content-Type: multipart/report; report-type=delivery-status; boundary="${boundary}"`,
      '',
      `--${boundary}`,
      'Content-Type: text/plain',
      '',
      'The message came back.',
      `--${boundary}`,
      'Content-Type: message/delivery-status',
      '',
      'Reporting-MTA: dns; direct.simulated.example',
      `X-Original-Message-ID: <${messageId}>`,
      '',
      `Final-Recipient: rfc822; ${recipient}`,
      'Action: failed',
      'Status: 5.0.0',
      `--${boundary}--`,
      '',
    ].join('\r\n'),
  );
}
