import { floodApart, observe } from '../overload/flood.ts';
import type { Attack } from './attack.ts';

const SECONDS = 8;

/** The short form of `npm run overload`. */
export const floodOfOneAccount: Attack = {
  name: 'One account over 500 connections, 50 slow sockets',
  async run({ stack, account }) {
    const { baseUrl } = stack.connection;
    const other = await stack.addAccount();
    const slow = await stack.addAccount();
    const watched = AbortSignal.timeout(SECONDS * 1_000);
    const order = {
      target: { baseUrl, ...account },
      connections: 500,
      seconds: SECONDS,
      slowKey: slow.apiKey,
    };
    const [counts, health, neighbour] = await Promise.all([
      floodApart(order),
      observe(`${baseUrl}/health`, undefined, watched),
      observe(`${baseUrl}/medical/v1/facility`, other.apiKey, watched),
    ]);
    const [stored] = await stack.rows<{ count: string }>(
      'select count(*) from patient where id = any($1::uuid[])',
      [counts.accepted],
    );
    const lost = counts.accepted.length - Number(stored?.count);
    const ms = (sorted: readonly number[]) =>
      `${sorted[Math.floor(sorted.length * 0.95)]?.toFixed(0)} ms`;
    return {
      seen:
        `${counts.served} served, ${counts.refused} refused, ${JSON.stringify(counts.failed)} otherwise, ${lost} lost; ` +
        `95 %: another account ${ms(neighbour.ms)}, /health ${ms(health.ms)}; ${neighbour.failures + health.failures} failures`,
      holds: lost === 0 && neighbour.failures === 0 && health.failures === 0,
    };
  },
};
