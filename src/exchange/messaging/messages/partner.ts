import { z } from 'zod';
import type { Config } from '../../../config.ts';
import {
  createPartnerHttp,
  type PartnerConfig,
  PartnerFailure,
  partnerConfig,
} from '../../platform/partners/partner-http.ts';
import type { StoredMessage } from './message-store.ts';
import type {
  DeliveryState,
  MessageTransport,
  SentAttachment,
} from './message-transport.ts';

const answerSchema = z.object({
  status: z.enum(['accepted', 'delivered', 'failed']),
  /** A code. The network's own words are not passed on. */
  reason: z
    .enum(['unknown-recipient', 'rejected', 'undelivered'])
    .optional()
    .catch('undelivered'),
});
/**
 * The time for the answer, and for the bytes on a slow line: 15 s for a note, 4
 * minutes for the 20 MB that a message may have.
 */
const ANSWER_MS = 15_000;
const BYTES_PER_MS = 128;
export const sendTimeoutMs = (attachedBytes: number): number =>
  ANSWER_MS + Math.ceil(((attachedBytes / 3) * 4) / BYTES_PER_MS);

/**
 * Undefined if no transport partner is configured. Throws ConfigError if only
 * one of the two variables is set.
 */
export function openMessagePartner(
  config: Config<'MESSAGE_PARTNER_BASE_URL' | 'MESSAGE_PARTNER_SECRET'>,
): MessageTransport | undefined {
  const { MESSAGE_PARTNER_BASE_URL: baseUrl, MESSAGE_PARTNER_SECRET: secret } =
    config;
  const partner = partnerConfig('MESSAGE_PARTNER', baseUrl, secret);
  return partner && createMessagePartner(partner);
}

/**
 * The partner that transports messages by XDR and Direct
 * (docs/decisions/0042-the-transport-partner.md). Throws PartnerFailure.
 */
export function createMessagePartner(config: PartnerConfig): MessageTransport {
  const http = createPartnerHttp('transport partner', config);
  return {
    /**
     * Hands a message over. The partner treats a repeated id as the same
     * message.
     */
    async send(
      message: StoredMessage,
      attachments: readonly SentAttachment[],
      signal?: AbortSignal,
    ): Promise<DeliveryState> {
      const {
        id,
        transportMethod,
        network,
        destination,
        subject,
        body,
        intendedRecipientNpi,
      } = message;
      const sent = {
        id,
        transportMethod,
        network,
        destination,
        subject,
        body,
        intendedRecipientNpi,
        attachments: attachments.map(
          ({ id: documentId, fileName, contentType, content }) => ({
            id: documentId,
            fileName,
            contentType,
            content: content.toString('base64'),
          }),
        ),
      };
      try {
        const answer = await http.call('POST', '/messages', {
          body: sent,
          signal,
          timeoutMs: sendTimeoutMs(
            attachments.reduce((sum, { content }) => sum + content.length, 0),
          ),
        });
        return read(answer);
      } catch (error) {
        if (error instanceof PartnerFailure && error.kind === 'refused')
          return { state: 'failed', reason: 'refused' };
        throw error;
      }
    },
    /** The delivery state of a message that was handed over. */
    ask: async (messageId: string, signal?: AbortSignal) =>
      read(await http.call('GET', `/messages/${messageId}`, { signal })),
  };
}

function read(answer: unknown): DeliveryState {
  const parsed = answerSchema.safeParse(answer);
  if (!parsed.success)
    throw new PartnerFailure(
      'bad-answer',
      'The transport partner answered without a status',
    );
  const { status, reason = 'undelivered' } = parsed.data;
  return status === 'failed' ? { state: 'failed', reason } : { state: status };
}
