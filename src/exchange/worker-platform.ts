import type { SourceType } from '../contract/primitives.ts';
import type { MessagePartner } from './messaging/messages/partner.ts';
import type { SourceConnections } from './sources/connections/connections.ts';
import type { SourceConnector } from './sources/connectors/connector.ts';
import type { Platform } from './platform/platform.ts';
import type { StartGuard } from './platform/recovery/start-guard.ts';

/** The services that activities may use, in addition to those of the features. */
export interface WorkerPlatform extends Platform {
  /** Serve the accounts that have no connections of their own. */
  connectors: Record<SourceType, SourceConnector>;
  connections: SourceConnections;
  /** Gives up work that repeatedly ends its process. */
  startGuard: StartGuard;
  /** Transports messages; without one, sending fails. */
  messagePartner?: MessagePartner;
}
