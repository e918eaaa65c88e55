import type { SourceType } from '../../contract/primitives.ts';
import type { MessagePartner } from '../messages/partner.ts';
import type { SourceConnections } from '../source-connections/connections.ts';
import type { SourceConnector } from '../sources/connector.ts';
import type { Platform } from './platform.ts';
import type { StartGuard } from './recovery/start-guard.ts';

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
