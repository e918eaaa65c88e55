import type { IncomingHttpHeaders } from 'node:http';
import type { Logger } from '../../../lib/logger.ts';
import type { BlobStore } from '../../../shared/blobs/blob-store.ts';
import type { BulkCreateService } from '../../bulk-create/service.ts';
import type { ConsolidatedLauncher } from '../../consolidated-query/launcher.ts';
import type { DocumentRenditions } from '../../documents/renditions.ts';
import type { IdentityPartner } from '../../identity/partner.ts';
import type { MessageLauncher } from '../../messages/launcher.ts';
import type { NetworkQueryService } from '../../network-query/service.ts';
import type { FollowUps } from '../../notifications/follow-up/follow-ups.ts';
import type { NotificationSender } from '../../notifications/senders.ts';
import type { Erasures } from '../../patients/erasures.ts';
import type { SweepControl } from '../../query-sweep/control.ts';
import type { RecordKeeper } from '../../records/record-keeper.ts';
import type { DestinationPing } from '../../webhooks/ping.ts';
import type { Store } from '../database/database.ts';
import type { LinkMaker } from '../links/signed-link.ts';
import type { Courier } from '../outbox/courier.ts';
import type { WebhookKeys } from '../outbox/webhook-key.ts';
import type { AnswerSeal } from './answer-seal.ts';

/** What a gateway is built from. */
export interface GatewayDeps {
  store: Store;
  logger: Logger;
  networkQueries: NetworkQueryService;
  bulkCreates: BulkCreateService;
  consolidatedQueries: Pick<ConsolidatedLauncher, 'launch'>;
  /** Steers the queries after a bulk create. */
  querySweeps: SweepControl;
  blobs: BlobStore;
  links: LinkMaker;
  /** Brings a record up to date before it is read. */
  records: RecordKeeper;
  documentRenditions: Pick<DocumentRenditions, 'render'>;
  /** Address at which callers reach this gateway, without a slash at the end. */
  publicBaseUrl: string;
  /** Seals the answers that are kept under idempotency keys. */
  answerSeal: AnswerSeal;
  /** Hashes idempotency keys and identity keys. */
  idHmacKey: string;
  linkSigningKey: string;
  internalTokenKey: string;
  /** Embedded stack only: webhooks may go to http on this machine. */
  allowLoopbackWebhooks: boolean;
  /** Origins that the operator vouches for: webhooks may go there, private or not. */
  trustedWebhookOrigins?: readonly string[];
  /** Addresses and ranges whose `X-Forwarded-For` tells where a request came from; none: nobody's does. */
  trustedProxies?: readonly string[];
  /** Requests that one account may have under way; above it 503. */
  accountRequestsMax?: number;
  /** A source announces that its answer is ready; the body is as it came. */
  handleSourceCallback(
    token: string,
    headers: IncomingHttpHeaders,
    rawBody: Buffer,
  ): Promise<{ status: number }>;
  courier: Pick<Courier, 'send' | 'resume'>;
  webhookKeys: WebhookKeys;
  /** Who may tell us of people unasked; none: nobody. */
  notificationSenders?: readonly NotificationSender[];
  erasures: Pick<Erasures, 'start'>;
  followUps: Pick<FollowUps, 'launch' | 'wake'>;
  /** Verifies people for individual access; none: nobody does. */
  identityPartner?: IdentityPartner;
  /** What the identity partner signs its callbacks with. */
  identitySecret?: string;
  /** Brings messages out; none: nobody does. */
  messages?: Pick<MessageLauncher, 'launch' | 'receiptCame'>;
  /** What the transport partner of messages signs its callbacks with. */
  messageSecret?: string;
  /** Of tests that let sessions expire; default the machine's. */
  clock?: () => Date;
  /** Asks a new webhook destination whether it is one. */
  destinationPing: Pick<DestinationPing, 'ping'>;
  /** A cohort was created, changed or deleted, and that is committed: its schedules follow. Must not throw. */
  cohortChanged(accountId: string, cohortId: string): void;
  /** Resolves when the Temporal server answers. */
  pingTemporal(): Promise<void>;
}
