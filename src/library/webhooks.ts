/** Inbound webhooks: verifies signatures and parses messages. */

export { isSigned, parseKeys } from '../orchestrator/receiver/signatures.ts';
export {
  readWebhookMessage,
  type WebhookMessage,
} from '../orchestrator/receiver/webhook-message.ts';
