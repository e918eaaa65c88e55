import { type ClientRequest, request as openRequest } from 'node:http';
import { until } from '../../test/faults/kill/until.ts';
import type { Attack, Target } from './attack.ts';

const LARGE_BYTES = 20_000_000;

/**
 * A message with invented signature headers, of which so much is sent. Holds
 * the status once there is one.
 */
function open(
  { stack }: Target,
  sentBytes: number,
): { request: ClientRequest; status?: number } {
  const request = openRequest(`${stack.connection.baseUrl}/messages/callback`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'content-length': LARGE_BYTES,
      'webhook-id': 'attack',
      'webhook-timestamp': String(Math.floor(Date.now() / 1_000)),
      'webhook-signature': `v1,${'A'.repeat(43)}=`,
    },
  });
  const opened: { request: ClientRequest; status?: number } = { request };
  request.on('response', ({ statusCode }) => {
    opened.status = statusCode;
  });
  request.on('error', () => undefined);
  request.write(Buffer.alloc(sentBytes, ' '));
  return opened;
}

/**
 * The partner, at the same address, delivers a message of 2 MB. Returns the
 * statuses until it is taken.
 */
async function deliver({ stack }: Target): Promise<number[]> {
  const content = Buffer.alloc(2_000_000, 'x').toString('base64');
  const message = {
    messageId: `attack-${Date.now()}`,
    destination: 'nobody@direct.example.org',
    subject: 'A letter',
    attachments: [
      { fileName: 'letter.txt', contentType: 'text/plain', content },
    ],
  };
  const statuses: number[] = [];
  const isTaken = async () => {
    const status = await stack.simulator.deliverMessage(message);
    statuses.push(status);
    return status !== 503;
  };
  await until(isTaken, { timeoutMs: 60_000, everyMs: 500 });
  return statuses;
}

const attack = (name: string, sentBytes: number, triesMax: number): Attack => ({
  name,
  async run(target) {
    const alone = await deliver(target);
    const opened = Array.from({ length: 4 }, () => open(target, sentBytes));
    const drip = setInterval(
      () => opened.map(({ request }) => request.write(' ')),
      1_000,
    );
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    const startedAt = performance.now();
    const statuses = await deliver(target);
    const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1);
    clearInterval(drip);
    for (const { request } of opened) request.destroy();
    const refused = statuses.slice(0, -1);
    return {
      seen: `a genuine message of 2 MB is a ${statuses.at(-1)} after ${seconds} s and ${refused.length} refusals`,
      holds: statuses.at(-1) === alone.at(-1) && refused.length <= triesMax,
    };
  },
});

export const announcedMessages = attack(
  'Four messages announce 20 MB with invented signatures and send one byte',
  1,
  0,
);
export const slowMessages = attack(
  'The same, after 1.5 MB byte by byte',
  1_500_000,
  30,
);
