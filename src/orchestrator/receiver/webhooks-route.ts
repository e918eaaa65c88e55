import { randomUUID } from 'node:crypto';
import type { FastifyInstance, FastifyReply } from 'fastify';
import {
  codesOfStatus,
  ERROR_NAMES,
  type ErrorBody,
  type ErrorStatus,
} from '../../contract/errors.ts';
import type { Logger } from '../../lib/logger.ts';
import type { MessageLog } from './message-log.ts';
import type { ReceiverOnboardings } from './onboardings.ts';
import { isSigned } from './signatures.ts';
import { readWebhookMessage, type WebhookMessage } from './webhook-message.ts';

export interface ReceiverDeps {
  onboardings: ReceiverOnboardings;
  messages: MessageLog;
  /**
   * The keys that webhooks may be signed with; several during a key rotation.
   */
  webhookKeys: readonly string[];
  intakeKeys: readonly string[];
  logger: Logger;
}

/** The body exactly as it was sent; empty if there was none. */
export const rawBodyOf = (body: unknown): Buffer =>
  Buffer.isBuffer(body) ? body : Buffer.alloc(0);

/**
 * `POST /webhooks`. Responds 2xx once the message was signaled to its workflow,
 * was received before, or concerns none of our workflows; 400 for an invalid
 * body; 401 without a valid signature; 503 when Temporal is down, so that the
 * sender retries.
 */
export function registerWebhooks(
  app: FastifyInstance,
  deps: ReceiverDeps,
): void {
  const take = takeOnce(deps);
  const warnOfRefusal = foldedWarning(
    deps.logger,
    'a webhook without a valid signature was refused',
  );
  app.post('/webhooks', async (request, reply) => {
    const rawBody = rawBodyOf(request.body);
    if (!isSigned(rawBody, request.headers, deps.webhookKeys)) {
      warnOfRefusal();
      return sendProblem(
        reply,
        401,
        'Unauthorized',
        'The signature is missing, invalid or too old',
      );
    }
    const message = readWebhookMessage(rawBody);
    if (message === undefined)
      return sendProblem(
        reply,
        400,
        'Bad request',
        'The body is not a webhook: it needs meta.messageId and meta.type',
      );
    if (message.ping !== undefined) return { pong: message.ping };
    try {
      await take(message);
      return { message: 'taken' };
    } catch (error) {
      deps.logger.error(
        { err: error, messageId: message.messageId },
        'could not signal a webhook to its workflow',
      );
      return sendProblem(
        reply.header('retry-after', '5'),
        503,
        'Service unavailable',
        'Temporal cannot be reached; send the webhook again in a few seconds',
      );
    }
  });
}

/**
 * Signals each message at most once, as far as this process and its log know;
 * workflows ignore remaining duplicates.
 */
function takeOnce({ onboardings, messages, logger }: ReceiverDeps) {
  const underWay = new Map<string, Promise<void>>();

  async function passOn(message: WebhookMessage): Promise<void> {
    const { messageId, type, requestId } = message;
    const repeat = messages.has(messageId);
    const signalled = !repeat && (await signal(message));
    await messages.note({
      at: new Date().toISOString(),
      messageId,
      type,
      requestId,
      repeat,
      signalled,
    });
    logger.info(
      { messageId, type, requestId, repeat, signalled },
      signalled
        ? 'webhook passed on'
        : repeat
          ? 'webhook repeated'
          : 'webhook unmatched',
    );
  }

  async function signal(message: WebhookMessage): Promise<boolean> {
    const { orchestrationId, sourceEnd, identityVerified, bulkCreate } =
      message;
    if (bulkCreate !== undefined)
      return onboardings.signalBulkCreate(bulkCreate);
    if (orchestrationId === undefined) return false;
    if (identityVerified !== undefined)
      return onboardings.signalVerified(orchestrationId, identityVerified);
    if (sourceEnd === undefined) return false;
    return onboardings.signalSourceEnd(orchestrationId, sourceEnd);
  }

  return async (message: WebhookMessage): Promise<void> => {
    // A duplicate that arrives while the first is in progress waits for its
    // outcome.
    const before = underWay.get(message.messageId) ?? Promise.resolve();
    const mine = before.catch(() => undefined).then(() => passOn(message));
    underWay.set(message.messageId, mine);
    try {
      await mine;
    } finally {
      if (underWay.get(message.messageId) === mine)
        underWay.delete(message.messageId);
    }
  };
}

/**
 * Creates a function that logs a warning which unauthenticated callers can
 * trigger. Logs the first one at once, and further ones at most once per
 * `everyMs`, with their number in `times`.
 */
export function foldedWarning(
  logger: Pick<Logger, 'warn'>,
  message: string,
  everyMs = 60_000,
): () => void {
  let timer: NodeJS.Timeout | undefined;
  let folded = 0;
  const startTimer = () => {
    timer = setTimeout(() => {
      timer = undefined;
      if (folded === 0) return;
      logger.warn({ times: folded }, message);
      folded = 0;
      startTimer();
    }, everyMs).unref();
  };
  return () => {
    if (timer !== undefined) {
      folded += 1;
      return;
    }
    logger.warn(message);
    startTimer();
  };
}

/**
 * Sends an error body in the interface's format (RFC 9457 with the published
 * members).
 */
export function sendProblem(
  reply: FastifyReply,
  status: ErrorStatus,
  title: string,
  detail: string,
  errors?: ErrorBody['errors'],
): FastifyReply {
  const body: ErrorBody = {
    type: 'about:blank',
    code: codesOfStatus(status)[0] ?? 'internal-error',
    status,
    name: ERROR_NAMES[status],
    title,
    detail,
    instance: `urn:uuid:${randomUUID()}`,
    errors,
  };
  return reply.code(status).type('application/problem+json').send(body);
}
