import { type Hl7Message, UnreadableMessageError } from '#hl7v2-to-fhir';
import type { Logger } from '../../../../lib/logger.ts';
import {
  acknowledgementsAsked,
  refusedFor,
  type TakenIn,
} from '../hl7v2/acknowledge.ts';
import {
  batchOf,
  type ParsedMessage,
  parseAll,
  takeIn,
} from '../hl7v2/respond.ts';
import type { Intake } from '../intake.ts';
import type { NotificationSender } from '../senders.ts';

/**
 * How a sender is recognised on the MLLP listener, where there is no bearer
 * token.
 */
export type MllpIdentity =
  /** A name in its client certificate. */
  | { sender: string; certificate: string }
  /**
   * MSH-3 and MSH-4, where the network in front of the listener decides who can
   * connect.
   */
  | { sender: string; application: string; facility: string };

export interface MllpAnswer {
  /** One for each frame of the answer; none if the message asks for none. */
  acknowledgements: readonly string[];
  isOfKnownSender: boolean;
}

/**
 * Answers the messages of the MLLP listener. Undefined: it is no HL7 v2
 * message, so that no acknowledgement is possible.
 */
export function createMllpAnswer(deps: {
  intake: Intake;
  senders: readonly NotificationSender[];
  identities: readonly MllpIdentity[];
  logger: Pick<Logger, 'info' | 'warn'>;
}): (
  bytes: Buffer,
  certificateNames: readonly string[],
) => Promise<MllpAnswer | undefined> {
  const { senders, identities, logger } = deps;

  function senderOf(
    { header }: Hl7Message,
    names: readonly string[],
  ): NotificationSender | undefined {
    const application = header.value(3);
    const facility = header.value(4);
    const identity =
      identities.find(
        (each) => 'certificate' in each && names.includes(each.certificate),
      ) ??
      identities.find(
        (each) =>
          'application' in each &&
          each.application === application &&
          each.facility === facility,
      );
    return senders.find(({ name }) => name === identity?.sender);
  }

  async function outcomeOf(
    message: ParsedMessage,
    sender: NotificationSender | undefined,
  ): Promise<TakenIn> {
    if (sender === undefined) {
      logger.warn('a message of an unknown MLLP sender was refused');
      return refusedFor(UNKNOWN_SENDER);
    }
    try {
      return await takeIn(deps, sender, message);
    } catch (err) {
      logger.warn(
        { err, sender: sender.name },
        'a message could not be stored',
      );
      return refusedFor(NOT_STORED);
    }
  }

  return async (bytes, names) => {
    let messages: ParsedMessage[];
    try {
      messages = parseAll(bytes);
    } catch (error) {
      if (error instanceof UnreadableMessageError) return undefined;
      throw error;
    }
    const acknowledgements: string[] = [];
    let isOfKnownSender = false;
    for (const message of messages) {
      const sender = senderOf(message.parsed, names);
      isOfKnownSender ||= sender !== undefined;
      const outcome = await outcomeOf(message, sender);
      acknowledgements.push(...acknowledgementsAsked(message.parsed, outcome));
    }
    const isBatch = messages.length > 1 && acknowledgements.length > 0;
    return {
      acknowledgements: isBatch
        ? [batchOf(acknowledgements)]
        : acknowledgements,
      isOfKnownSender,
    };
  };
}

const UNKNOWN_SENDER = new UnreadableMessageError(
  'unsupported',
  'This sender is not known',
  'MSH-3',
);
const NOT_STORED = new UnreadableMessageError(
  'failed',
  'The message was not stored because of a fault of ours; send it again',
);
