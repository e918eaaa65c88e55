import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { request } from 'undici';

interface Answer {
  status: number;
  contentType: string;
  body: Buffer;
}

export type PromptSource = Awaited<ReturnType<typeof startPromptSource>>;

/**
 * Answers at once, as the simulator did when it was first asked the same, and
 * notes how long each answer took.
 */
export async function startPromptSource() {
  const answers = new Map<string, Answer>();
  const spans: { from: number; to: number }[] = [];
  let simulatorUrl: string | undefined;

  const ask = async (call: IncomingMessage, body: Buffer): Promise<Answer> => {
    const { 'content-length': _, connection: __, ...headers } = call.headers;
    const answer = await request(`${simulatorUrl}${call.url}`, {
      method: call.method as 'GET',
      headers,
      body: body.length > 0 ? body : null,
    });
    return {
      status: answer.statusCode,
      contentType: String(answer.headers['content-type']),
      body: Buffer.from(await answer.body.arrayBuffer()),
    };
  };

  const server = createServer(async (call, response) => {
    const from = performance.now();
    const parts: Buffer[] = [];
    for await (const part of call) parts.push(part as Buffer);
    const body = Buffer.concat(parts);
    const key = `${call.method} ${call.url} ${body}`;
    const answer = answers.get(key) ?? (await ask(call, body));
    answers.set(key, answer);
    response.writeHead(answer.status, { 'content-type': answer.contentType });
    response.end(answer.body, () =>
      spans.push({ from, to: performance.now() }),
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** Whose answers it gives. */
    repeat(url: string): void {
      simulatorUrl = url;
    },
    /** Requests since the last call, each with when it came and was answered. */
    takeSpans: () => spans.splice(0),
    async close(): Promise<void> {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** How long at least one of the spans lasted, in milliseconds. */
export function unionMs(
  spans: readonly { from: number; to: number }[],
): number {
  let sum = 0;
  let upTo = Number.NEGATIVE_INFINITY;
  for (const { from, to } of spans.toSorted((a, b) => a.from - b.from)) {
    sum += Math.max(0, to - Math.max(from, upTo));
    upTo = Math.max(upTo, to);
  }
  return sum;
}
