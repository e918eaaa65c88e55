import { createHmac } from 'node:crypto';
import { request } from 'undici';
import { callGateway } from '../../test/support/stack.ts';
import type { Attack } from './attack.ts';

const REQUESTS = 500;
/** Refusals that are logged each second (docs/operations/audit.md). */
const LINES_PER_SECOND = 50;

export const unknownKeys: Attack = {
  name: `${REQUESTS} requests with unknown API keys`,
  async run({ stack }) {
    const refusals = async () =>
      (
        Object.values(await stack.logs())
          .join('')
          .match(/"status(Code)?":401/g) ?? []
      ).length;
    const before = await refusals();
    const startedAt = performance.now();
    const apiKey = `mdx_${'a'.repeat(43)}`;
    const answers = await Promise.all(
      Array.from({ length: REQUESTS }, () =>
        callGateway(stack.connection, { apiKey }, 'GET', 'facility', {
          timeoutMs: 60_000,
        }),
      ),
    );
    const seconds = (performance.now() - startedAt) / 1_000;
    const lines = (await refusals()) - before;
    const statuses = new Set(answers.map(({ status }) => status));
    return {
      seen: `${[...statuses].join(', ')} in ${seconds.toFixed(1)} s, ${lines} lines in the logs`,
      holds:
        [...statuses].every((status) => status === 401 || status === 503) &&
        lines <= LINES_PER_SECOND * (seconds + 1),
    };
  },
};

const DAY_MS = 86_400_000;

export const oldSignature: Attack = {
  name: 'The older signature on a webhook that is five days old, has no time, or is fresh',
  async run({ stack: { connection, secrets } }) {
    const send = async (meta: object): Promise<number> => {
      const body = JSON.stringify({
        meta: { messageId: 'attack', type: 'ping', ...meta },
        ping: 'attack',
      });
      const signature = createHmac('sha256', secrets.webhookKey)
        .update(body)
        .digest('hex');
      const answer = await request(`${connection.receiverUrl}/webhooks`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'x-metriport-signature': signature,
        },
        body,
      });
      await answer.body.dump();
      return answer.statusCode;
    };
    const at = (ageMs: number) => ({
      when: new Date(Date.now() - ageMs).toISOString(),
    });
    const statuses = [
      await send(at(5 * DAY_MS)),
      await send({}),
      await send(at(0)),
    ];
    return {
      seen: statuses.join(', '),
      holds: String(statuses) === '401,401,200',
    };
  },
};

const DESTINATIONS = [
  '[::127.0.0.1]',
  '[::10.0.0.1]',
  '[::ffff:169.254.169.254]',
  '168.63.129.16',
  '0x7f.1',
  '2130706433',
];

export const innerDestinations: Attack = {
  name: `Webhooks to ${DESTINATIONS.join(', ')}`,
  async run({ stack, account }) {
    const statuses: number[] = [];
    for (const host of DESTINATIONS) {
      const body = { url: `https://${host}/hook` };
      statuses.push(
        (
          await callGateway(stack.connection, account, 'POST', 'webhook', {
            body,
          })
        ).status,
      );
    }
    return {
      seen: statuses.join(', '),
      holds: statuses.every((status) => status === 400),
    };
  },
};

export const putInsteadOfPost: Attack = {
  name: 'PUT on each path that has only POST',
  async run({ stack: { connection }, account }) {
    const answer = await request(`${connection.baseUrl}/openapi.json`);
    const { paths } = (await answer.body.json()) as {
      paths: Record<string, object>;
    };
    const only = Object.keys(paths).filter(
      (path) => Object.keys(paths[path] ?? {}).join() === 'post',
    );
    const seen = await Promise.all(
      only.map(async (path) => {
        const url = `${connection.baseUrl}${path.replace(/\{\w+\}/g, account.facilityId)}`;
        const headers = { 'x-api-key': account.apiKey };
        const refused = await request(url, { method: 'PUT', headers });
        await refused.body.dump();
        return `${refused.statusCode} ${refused.headers.allow}`;
      }),
    );
    const wrong = seen.filter(
      (each) => !each.startsWith('405 ') || /PUT|undefined/.test(each),
    );
    return {
      seen: `${only.length} paths, ${wrong.join('; ') || 'all 405 with Allow'}`,
      holds: wrong.length === 0,
    };
  },
};
