import type { DestinationRules } from '../outbox/destination-guard.ts';
import type { WebhookDispatcher } from '../outbox/webhook-dispatcher.ts';
import type { Platform } from '../platform.ts';
import type { ResponseSeal } from './idempotency-store.ts';

/**
 * Dependencies of the gateway, in addition to the services of the features
 * (`features.ts`).
 */
export interface GatewayPlatform
  extends Pick<
    Platform,
    | 'store'
    | 'logger'
    | 'blobs'
    | 'links'
    | 'webhookKeys'
    | 'publicBaseUrl'
    | 'idHmacKey'
  > {
  webhookDispatcher: Pick<WebhookDispatcher, 'resume'>;
  /** Encrypts the responses stored under idempotency keys. */
  responseSeal: ResponseSeal;
  linkSigningKey: string;
  internalTokenKey: string;
  /** Embedded stack only: allows http webhook destinations on this machine. */
  allowLoopbackWebhooks: boolean;
  /** Ports of this machine to which no webhook may be sent. */
  refusedWebhookPorts?: readonly number[];
  /**
   * Origins that webhooks may be sent to although they are private or plain
   * http.
   */
  trustedWebhookOrigins?: readonly string[];
  /**
   * Addresses and ranges of proxies whose `X-Forwarded-For` header is trusted.
   * Default: none.
   */
  trustedProxies?: readonly string[];
  /**
   * Maximum number of concurrent requests per account; beyond it, the response
   * is 503.
   */
  accountRequestsMax?: number;
  /**
   * Reports regularly whether the gateway can keep up, and returns a function
   * that stops it. Default: no reports, and no request is refused for that
   * reason.
   */
  watchPressure?: (report: (isUnderPressure: boolean) => void) => () => void;
  /** Clock for tests of expiry; default: the system clock. */
  clock?: () => Date;
  /** Resolves if the Temporal server responds. */
  pingTemporal(): Promise<void>;
}

export type DestinationDeps = Pick<
  GatewayPlatform,
  'allowLoopbackWebhooks' | 'refusedWebhookPorts' | 'trustedWebhookOrigins'
>;

export const destinationRules = (deps: DestinationDeps): DestinationRules => ({
  allowLoopback: deps.allowLoopbackWebhooks,
  refusedPorts: deps.refusedWebhookPorts,
  trustedOrigins: deps.trustedWebhookOrigins,
});
