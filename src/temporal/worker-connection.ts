import { NativeConnection } from '@temporalio/worker';
import { type TemporalConfig, temporalConnectionOptions } from './client.ts';
import { onNewApiKey } from './credentials.ts';

/**
 * Connects workers to Temporal. Not in client.ts, whose users need not load the
 * native core. Throws when the server cannot be reached.
 */
export async function connectTemporal(
  config: TemporalConfig,
): Promise<NativeConnection> {
  const options = temporalConnectionOptions(config);
  const connection = await NativeConnection.connect(options);
  if (options.apiKey !== undefined)
    onNewApiKey(options.apiKey, (apiKey) => connection.setApiKey(apiKey));
  return connection;
}
