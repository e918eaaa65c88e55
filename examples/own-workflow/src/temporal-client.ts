import { ExchangePlugin } from '@medical-data-exchange/library/worker';
import { Client, Connection as TemporalConnection } from '@temporalio/client';
import type { Connection } from './connection.ts';

/**
 * Creates a client that encrypts payloads like the worker. Close its
 * `connection` when done.
 */
export async function connectClient(settings: Connection): Promise<Client> {
  const {
    temporalAddress: address,
    temporalNamespace: namespace,
    dataKeys,
  } = settings;
  const connection = await TemporalConnection.connect({ address });
  return new Client({
    connection,
    namespace,
    plugins: [new ExchangePlugin({ dataKeys })],
  });
}
