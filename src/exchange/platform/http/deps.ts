import type { Logger } from '../../../lib/logger.ts';
import type { BlobStore } from '../../../shared/blobs/blob-store.ts';
import type { IdentityPartner } from '../../identity/partner.ts';
import type { NotificationSender } from '../../notifications/senders.ts';
import type { Store } from '../database/database.ts';
import type { LinkMaker } from '../links/signed-link.ts';
import type { WebhookDispatcher } from '../outbox/webhook-dispatcher.ts';
import type { WebhookKeys } from '../outbox/webhook-key.ts';
import type { ResponseSeal } from './response-seal.ts';

/** What a gateway is built from, beside the services of the features (`features.ts`). */
export interface GatewayPlatform {
  store: Store;
  logger: Logger;
  blobs: BlobStore;
  links: LinkMaker;
  webhookDispatcher: Pick<WebhookDispatcher, 'resume'>;
  webhookKeys: WebhookKeys;
  /** Address at which callers reach this gateway, without a slash at the end. */
  publicBaseUrl: string;
  /** Seals the answers that are kept under idempotency keys. */
  responseSeal: ResponseSeal;
  /** Hashes idempotency keys and identity keys. */
  idHmacKey: string;
  linkSigningKey: string;
  internalTokenKey: string;
  /** Embedded stack only: webhooks may go to http on this machine. */
  allowLoopbackWebhooks: boolean;
  /** Origins that the operator vouches for: webhooks may go there, private or not. */
  trustedWebhookOrigins?: readonly string[];
  /** Addresses and ranges whose `X-Forwarded-For` header is believed. None by default. */
  trustedProxies?: readonly string[];
  /** Requests that one account may have under way; above it 503. */
  accountRequestsMax?: number;
  /** Systems that may send notifications. None by default. */
  notificationSenders?: readonly NotificationSender[];
  /** Verifies people for individual access; without one, identity sessions are refused. */
  identityPartner?: IdentityPartner;
  /** What the identity partner signs its callbacks with. */
  identitySecret?: string;
  /** What the transport partner of messages signs its callbacks with. */
  messageSecret?: string;
  /** For tests in which sessions expire; the machine's clock by default. */
  clock?: () => Date;
  /** Resolves when the Temporal server answers. */
  pingTemporal(): Promise<void>;
}
