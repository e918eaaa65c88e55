import { NativeConnection } from '@temporalio/worker';
import { type TemporalConfig, temporalConnectionOptions } from './client.ts';

/**
 * Connects workers to Temporal. Not in client.ts, whose users need not load the native core. Throws when the server cannot
 * be reached.
 */
export function connectTemporal(config: TemporalConfig): Promise<NativeConnection> {
  return NativeConnection.connect(temporalConnectionOptions(config));
}
