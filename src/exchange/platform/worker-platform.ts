import type { SourceType } from '../../contract/primitives.ts';
import type { MessagePartner } from '../messages/partner.ts';
import type { SourceConnector } from '../sources/connector.ts';
import type { Platform } from './platform.ts';
import type { StartGuard } from './recovery/start-guard.ts';

/** The services that activities may use, in addition to those of the features. */
export interface WorkerPlatform extends Platform {
  connectors: Record<SourceType, SourceConnector>;
  /** Gives up work that repeatedly ends its process. */
  startGuard: StartGuard;
  /** Hashes identity keys. */
  idHmacKey: string;
  /** Transports messages; without one, sending fails. */
  messagePartner?: MessagePartner;
}
