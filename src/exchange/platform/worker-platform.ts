import type { SourceType } from '../../contract/primitives.ts';
import type { MessagePartner } from '../messages/partner.ts';
import type { SourceConnector } from '../sources/connector.ts';
import type { Platform } from './platform.ts';
import type { StartGuard } from './recovery/start-guard.ts';

/** What activities may use beside the services of the features. */
export interface WorkerPlatform extends Platform {
  connectors: Record<SourceType, SourceConnector>;
  /** Gives up work that ends its process again and again. */
  startGuard: StartGuard;
  /** Hashes identity keys. */
  idHmacKey: string;
  /** Transports messages; without one, sending fails. */
  messagePartner?: MessagePartner;
}
