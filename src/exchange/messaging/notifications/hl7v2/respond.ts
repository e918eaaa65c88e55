import {
  acceptHl7,
  type Hl7Message,
  parseHl7,
  UnreadableMessageError,
  withoutFrame,
} from '#hl7v2-to-fhir';
import type { Logger } from '../../../../lib/logger.ts';
import type { Intake } from '../intake.ts';
import type { NotificationSender } from '../senders.ts';
import { ACCEPTED, refusedFor, type TakenIn } from './acknowledge.ts';

export interface ParsedMessage {
  bytes: Buffer;
  parsed: Hl7Message;
}

/**
 * The messages of a body or frame. Throws UnreadableMessageError if one cannot
 * be acknowledged.
 */
export const parseAll = (bytes: Buffer): ParsedMessage[] =>
  messagesIn(bytes).map((message) => ({
    bytes: message,
    parsed: parseHl7(message),
  }));

/**
 * Takes a message in: it is accepted once it is committed. Rejects if it could
 * not be stored.
 */
export async function takeIn(
  { intake, logger }: { intake: Intake; logger: Pick<Logger, 'info'> },
  sender: NotificationSender,
  { bytes, parsed }: ParsedMessage,
): Promise<TakenIn> {
  try {
    const { message } = acceptHl7(parsed, sender.timeZone);
    await intake.accept(sender, 'hl7v2', bytes, message);
    return ACCEPTED;
  } catch (error) {
    if (!(error instanceof UnreadableMessageError)) throw error;
    logger.info(
      { sender: sender.name, kind: error.kind, place: error.place },
      'notification refused',
    );
    return refusedFor(error);
  }
}

/**
 * The messages of a body or frame. A batch (FHS, BHS, any number of messages,
 * BTS, FTS) is taken apart, and so are messages that follow each other without
 * one. Segments begin with the same bytes in every supported character set.
 */
export function messagesIn(bytes: Buffer): Buffer[] {
  const framed = withoutFrame(bytes);
  const text = framed.toString('latin1');
  const starts = [...text.matchAll(/(?<=^|[\r\n])MSH(?=[^\w\s])/g)].map(
    ({ index }) => index,
  );
  const isBatch = /^(?:FHS|BHS)[^\w\s]/.test(text);
  if (starts.length === 0 || (starts.length === 1 && !isBatch)) return [bytes];
  return starts.map((start, nth) => {
    const message = text.slice(start, starts[nth + 1]);
    const trailer = message.search(
      /[\r\n]+(?:BTS|FTS|BHS)(?:[^\w\s]|[\r\n]|$)/,
    );
    return framed.subarray(
      start,
      start + (trailer < 0 ? message.length : trailer),
    );
  });
}

/**
 * The answer to a batch is a batch of acknowledgements, in the order of its
 * messages.
 */
export const batchOf = (acknowledgements: readonly string[]): string =>
  acknowledgements.length === 1
    ? acknowledgements.join('')
    : `BHS|^~\\&\r${acknowledgements.join('')}BTS|${acknowledgements.length}\r`;
