import { createStore } from '../../src/exchange/platform/database/database.ts';
import { createBenchGateway, type Without } from './assembly.ts';

/** The first message of the parent. */
export interface ServeOrder {
  databaseUrl: string;
  dataKeys: string;
  /**
   * One gateway for each entry, all in this process; the parent puts load on
   * one after the other.
   */
  variants: Record<string, Without>;
}

/**
 * A process of the benchmark: runs the gateways, and reports its CPU time when
 * the parent requests it.
 */
process.on('message', (message: ServeOrder | 'cpu') => {
  if (message === 'cpu') process.send?.(process.cpuUsage());
  else void serve(message).then((urls) => process.send?.(urls));
});
process.on('disconnect', () => process.exit(0));

async function serve({
  databaseUrl,
  dataKeys,
  variants,
}: ServeOrder): Promise<Record<string, string>> {
  const store = createStore({ databaseUrl });
  const urls: Record<string, string> = {};
  for (const [name, without] of Object.entries(variants)) {
    const app = await createBenchGateway(store, dataKeys, without);
    urls[name] = await app.listen({ host: '127.0.0.1', port: 0 });
  }
  return urls;
}
