import type { Logger } from '../../lib/logger.ts';
import type { MessageLog } from './message-log.ts';
import type { Onboardings } from './onboardings.ts';

export interface ReceiverDeps {
  onboardings: Onboardings;
  messages: MessageLog;
  /** The keys that webhooks may be signed with; several during a key rotation. */
  webhookKeys: readonly string[];
  intakeKeys: readonly string[];
  logger: Logger;
}

/** The body exactly as it was sent; empty if there was none. */
export const rawBodyOf = (body: unknown): Buffer => (Buffer.isBuffer(body) ? body : Buffer.alloc(0));
