import { z } from 'zod';
import {
  MESSAGE_ATTACHMENT_BYTES_MAX,
  MESSAGE_ATTACHMENTS_MAX,
} from '../../../contract/messages.ts';
import { lookupTable } from '../../../lib/lookup-table.ts';

/** A file attached to an inbound message. */
export interface ReceivedAttachment {
  /** The sender's file name, without control characters. */
  title: string;
  contentType: string;
  content: Buffer;
}

export type ReadAttachments =
  | { attachments: ReceivedAttachment[] }
  | {
      status:
        | 413
        | 422 /** For the partner: which attachment is wrong, and what is expected. */;
      problem: string;
    };

const attachmentSchema = z.object({
  fileName: z.string().trim().min(1).max(255),
  contentType: z
    .string()
    .regex(/^[\w.+-]{1,100}\/[\w.+-]{1,100}(?:;\s*charset=[\w.-]{1,40})?$/),
  content: z.base64().min(1),
});

/**
 * Reads the attachments of the partner's callback: `{fileName, contentType,
 * content}`, the content in base64. Returns status 422 for an invalid
 * attachment or too many, 413 when they are too large together.
 */
export function readAttachments(given: readonly unknown[]): ReadAttachments {
  if (given.length > MESSAGE_ATTACHMENTS_MAX)
    return {
      status: 422,
      problem: `The message has ${given.length} attachments; at most ${MESSAGE_ATTACHMENTS_MAX} are accepted`,
    };
  const attachments: ReceivedAttachment[] = [];
  let sizeBytes = 0;
  for (const [index, each] of given.entries()) {
    const parsed = attachmentSchema.safeParse(each);
    // The rejected value is not repeated in the error: file names may contain
    // people's names.
    if (!parsed.success) {
      const member = parsed.error.issues[0]?.path.join('.') ?? '';
      const place =
        member === ''
          ? `attachments[${index}]`
          : `attachments[${index}].${member}`;
      return {
        status: 422,
        problem: `${place} ${RULES[member] ?? 'must be an object'}`,
      };
    }
    const { fileName, contentType } = parsed.data;
    const content = Buffer.from(parsed.data.content, 'base64');
    sizeBytes += content.length;
    attachments.push({
      title: fileName.replaceAll(/\p{C}/gu, ''),
      contentType,
      content,
    });
  }
  if (sizeBytes > MESSAGE_ATTACHMENT_BYTES_MAX)
    return {
      status: 413,
      problem: `The attachments have ${sizeBytes} bytes in total; at most ${MESSAGE_ATTACHMENT_BYTES_MAX} are accepted`,
    };
  return { attachments };
}

const RULES: Readonly<Record<string, string>> = lookupTable({
  fileName: 'must have 1 to 255 characters',
  contentType: 'must be a media type, such as application/xml',
  content: 'must be base64 without line breaks, and not empty',
});
