import type { Logger } from '../../../../lib/logger.ts';
import { UnreadableMessageError } from '../inbound.ts';
import type { Intake } from '../intake.ts';
import type { NotificationSender } from '../senders.ts';
import { acknowledge } from './ack.ts';
import { messagesIn } from './batch.ts';
import { type Hl7Message, parseHl7 } from './message.ts';
import { readHl7 } from './read-hl7.ts';

export interface ParsedMessage {
  bytes: Buffer;
  parsed: Hl7Message;
}

/** The messages of a body or frame. Throws UnreadableMessageError if one cannot be acknowledged. */
export const parseAll = (bytes: Buffer): ParsedMessage[] =>
  messagesIn(bytes).map((message) => ({ bytes: message, parsed: parseHl7(message) }));

/**
 * Takes a message in and returns its acknowledgement: AA once it is committed, AE or AR if it is refused. Rejects if it could
 * not be stored.
 */
export async function respondToHl7(
  { intake, logger }: { intake: Intake; logger: Pick<Logger, 'info'> },
  sender: NotificationSender,
  { bytes, parsed }: ParsedMessage,
): Promise<string> {
  try {
    await intake.accept(sender, 'hl7v2', bytes, readHl7(parsed, sender.timeZone));
    return acknowledge(parsed, 'AA');
  } catch (error) {
    if (!(error instanceof UnreadableMessageError)) throw error;
    logger.info({ sender: sender.name, kind: error.kind, place: error.place }, 'notification refused');
    return acknowledge(parsed, error.kind === 'unsupported' ? 'AR' : 'AE', error);
  }
}
