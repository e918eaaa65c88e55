import {
  type BenchCredentials,
  beginCollecting,
  connectTo,
  type Protocol,
} from './collectors.ts';
import type { Served } from './serve.ts';

/** The message of the parent: stream one large document. */
export interface StreamOrder {
  protocol: Protocol;
  served: Served;
  credentials: BenchCredentials;
}

/** What streaming has cost a fresh process. */
export interface StreamCost {
  bytes: number;
  seconds: number;
  cpuMs: number;
  /** How far memory (RSS) has grown at its peak. */
  grownMegabytes: number;
}

process.on('message', (order: StreamOrder) => {
  void stream(order).then((cost) => process.send?.(cost));
});
process.on('disconnect', () => process.exit(0));

async function stream({
  protocol,
  served,
  credentials,
}: StreamOrder): Promise<StreamCost> {
  const pages = await beginCollecting(connectTo(protocol, served, credentials));
  const rssBefore = process.memoryUsage.rss();
  const cpuBefore = process.cpuUsage();
  const startedMs = performance.now();
  let bytes = 0;
  let rssMax = rssBefore;
  for await (const { largeAttachment } of pages)
    for await (const chunk of largeAttachment?.chunks() ?? []) {
      bytes += chunk.length;
      rssMax = Math.max(rssMax, process.memoryUsage.rss());
    }
  const { user, system } = process.cpuUsage(cpuBefore);
  return {
    bytes,
    seconds: (performance.now() - startedMs) / 1_000,
    cpuMs: (user + system) / 1_000,
    grownMegabytes: (rssMax - rssBefore) / 2 ** 20,
  };
}
