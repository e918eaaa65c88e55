import { z } from 'zod';
import { MESSAGE_ATTACHMENT_BYTES_MAX, MESSAGE_ATTACHMENTS_MAX } from '../../contract/messages.ts';

/** A file that came with a message. */
export interface ReceivedAttachment {
  /** What the sender calls it. */
  title: string;
  contentType: string;
  content: Buffer;
}

export type ReadAttachments =
  | { attachments: ReceivedAttachment[] }
  | { status: 413 | 422 /** For the partner: which, and what would be right. */; problem: string };

const attachmentSchema = z.object({
  fileName: z.string().trim().min(1).max(255),
  contentType: z.string().regex(/^[\w.+-]{1,100}\/[\w.+-]{1,100}(?:;\s*charset=[\w.-]{1,40})?$/),
  content: z.base64().min(1),
});

/** The attachments as the partner's callback carries them: `{fileName, contentType, content}`, the content in base64. */
export function readAttachments(given: readonly unknown[]): ReadAttachments {
  if (given.length > MESSAGE_ATTACHMENTS_MAX)
    return {
      status: 422,
      problem: `There are ${given.length} attachments; at most ${MESSAGE_ATTACHMENTS_MAX} are taken`,
    };
  const attachments: ReceivedAttachment[] = [];
  let sizeBytes = 0;
  for (const [index, each] of given.entries()) {
    const parsed = attachmentSchema.safeParse(each);
    // What was sent there is not repeated: names of files name people.
    if (!parsed.success) {
      const member = parsed.error.issues[0]?.path.join('.') ?? '';
      const place = member === '' ? `attachments[${index}]` : `attachments[${index}].${member}`;
      return { status: 422, problem: `${place} ${RULES[member] ?? 'is not an object'}` };
    }
    const { fileName, contentType } = parsed.data;
    const content = Buffer.from(parsed.data.content, 'base64');
    sizeBytes += content.length;
    attachments.push({ title: fileName.replaceAll(/\p{C}/gu, ''), contentType, content });
  }
  if (sizeBytes > MESSAGE_ATTACHMENT_BYTES_MAX)
    return {
      status: 413,
      problem: `The attachments have ${sizeBytes} bytes together; at most ${MESSAGE_ATTACHMENT_BYTES_MAX} are taken`,
    };
  return { attachments };
}

const RULES: Readonly<Record<string, string>> = {
  fileName: 'has 1 to 255 characters',
  contentType: 'is a media type, such as application/xml',
  content: 'is base64 without line breaks, and not empty',
};
