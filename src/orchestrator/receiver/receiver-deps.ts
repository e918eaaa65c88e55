import type { Logger } from '../../lib/logger.ts';
import type { MessageLog } from './message-log.ts';
import type { Onboardings } from './onboardings.ts';

export interface ReceiverDeps {
  onboardings: Onboardings;
  messages: MessageLog;
  /** Keys that webhooks may be signed with; several while they rotate. */
  webhookKeys: readonly string[];
  intakeKeys: readonly string[];
  logger: Logger;
}

/** The body as it was sent; empty when there was none. */
export const rawBodyOf = (body: unknown): Buffer => (Buffer.isBuffer(body) ? body : Buffer.alloc(0));
