/** Inbound webhooks: whether the exchange signed one, and what it says. */

export { isSigned, parseKeys } from '../orchestrator/receiver/signatures.ts';
export { readWebhookMessage, type WebhookMessage } from '../orchestrator/receiver/webhook-message.ts';
