import type { Client } from '@temporalio/client';
import type { SourceType } from '../../contract/primitives.ts';
import type { KeyRing } from '../../lib/key-ring.ts';
import type { Logger } from '../../lib/logger.ts';
import type { BlobStore } from '../../shared/blobs/blob-store.ts';
import type { Store } from './database/database.ts';
import type { LinkMaker } from './links/signed-link.ts';
import type { WebhookDelivery } from './outbox/delivery.ts';
import type { DestinationRules } from './outbox/destination-guard.ts';
import type { WebhookSender } from './outbox/sender.ts';
import type { WebhookDispatcher } from './outbox/webhook-dispatcher.ts';
import type { WebhookKeys } from './outbox/webhook-key.ts';

/**
 * The services that every feature may use, in every process of the exchange.
 */
export interface Platform {
  store: Store;
  blobs: BlobStore;
  temporal: Client;
  logger: Logger;
  keyRing: KeyRing;
  links: LinkMaker;
  webhookDispatcher: WebhookDispatcher;
  delivery: WebhookDelivery;
  sender: WebhookSender;
  webhookKeys: WebhookKeys;
  /** Where connections may go whose addresses others choose. */
  destinations: DestinationRules;
  /** URL at which callers reach the gateway, without a trailing slash. */
  publicBaseUrl: string;
  /** LINK_SIGNING_KEY; source callback tokens are derived from it. */
  callbackKey: string;
  /**
   * ID_HMAC_KEY: keys the hashes of identities, of senders' ids and of
   * idempotency keys.
   */
  idHmacKey: string;
  /**
   * Key with which each source signs its callbacks; a source without one is
   * only polled.
   */
  callbackSecrets: Partial<Record<SourceType, string>>;
}
