import { createStore } from '../../src/exchange/platform/database/database.ts';
import { createBenchGateway, type Without } from './assembly.ts';

/** What the parent sends first. */
export interface ServeOrder {
  databaseUrl: string;
  dataKeys: string;
  /** One gateway for each, all in this process: the parent loads one after the other. */
  variants: Record<string, Without>;
}

/** A process of the bench: gateways, and the CPU time of the process whenever the parent asks. */
process.on('message', (message: ServeOrder | 'cpu') => {
  if (message === 'cpu') process.send?.(process.cpuUsage());
  else void serve(message).then((urls) => process.send?.(urls));
});
process.on('disconnect', () => process.exit(0));

async function serve({ databaseUrl, dataKeys, variants }: ServeOrder): Promise<Record<string, string>> {
  const store = createStore({ databaseUrl });
  const urls: Record<string, string> = {};
  for (const [name, without] of Object.entries(variants)) {
    const app = await createBenchGateway(store, dataKeys, without);
    urls[name] = await app.listen({ host: '127.0.0.1', port: 0 });
  }
  return urls;
}
