import { request } from 'undici';
import { type Attack, slowestHealth } from './attack.ts';

const nested = (depth: number): unknown =>
  depth === 0 ? 1 : { a: nested(depth - 1) };

/**
 * What a careless or hostile agent sends: nothing of it may be served, be a
 * fault, or slow others down.
 */
export const hostileAgent: Attack = {
  name: 'agents: an oversized body, batches of 1,000 and 2 calls, deep arguments, a page of another origin, 200 waits at once',
  async run(target) {
    const { stack, account } = target;
    const call = (name: string, args: unknown) => ({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name, arguments: args },
    });
    const send = async (
      body: unknown,
      headers: Record<string, string> = {},
    ) => {
      const answer = await request(`${stack.connection.baseUrl}/mcp`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${account.apiKey}`,
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          ...headers,
        },
        body: JSON.stringify(body),
      });
      const text = await answer.body.text();
      return `${answer.statusCode}${text.includes('"isError":true') ? ' tool error' : ''}`;
    };
    const find = call('find_patient', { name: 'x' });
    const seen = [
      await send(call('find_patient', { name: 'x'.repeat(1_000_000) })),
      await send(Array.from({ length: 1_000 }, () => find)),
      await send([find, find]),
      await send(call('find_patient', nested(2_000))),
      await send(find, { origin: 'http://rebound.example.org' }),
    ];
    const wait = call('query_status', {
      request_id: '00000000-0000-7000-8000-000000000000',
      wait_seconds: 120,
    });
    const waits = new Set<string>();
    const many = Promise.all(
      Array.from({ length: 200 }, async () => waits.add(await send(wait))),
    );
    const health = await slowestHealth(target, many);
    const expected = ['413', '413', '400', '200 tool error', '403'];
    return {
      seen: `${seen.join(', ')}; 200 waits: ${[...waits].join(', ')}, slowest /health ${health}`,
      holds:
        seen.every(
          (status, index) => status === expected[index] || status === '400',
        ) &&
        [...waits].every((status) =>
          /^(?:200 tool error|429|503)$/.test(status),
        ),
    };
  },
};
