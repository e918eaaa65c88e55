import { request as httpRequest, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import { json } from 'node:stream/consumers';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { withoutHops } from '../lib/hop-by-hop.ts';

/** Forwards a request, without our cookie, to Temporal's own web server, and returns its response. */
export async function forward(
  request: FastifyRequest,
  reply: FastifyReply,
  upstream: string,
  ownCookie: string,
): Promise<FastifyReply> {
  const headers = withoutHops(request.headers);
  headers.cookie = headers.cookie
    ?.split(/; */)
    .filter((pair) => !pair.startsWith(`${ownCookie}=`))
    .join('; ');
  if (!headers.cookie) delete headers.cookie;
  const answer = await ask(request, headers, upstream).catch(() => undefined);
  if (answer === undefined) return unavailable(reply);
  return reply
    .code(answer.statusCode ?? 502)
    .headers(withoutHops(answer.headers))
    .send(answer);
}

/** Returns the UI's settings, with the address of the codec endpoint that decodes payloads. */
export async function settingsWithCodec(
  request: FastifyRequest,
  reply: FastifyReply,
  upstream: string,
  endpoint: string,
): Promise<FastifyReply> {
  const answer = await ask(request, { accept: 'application/json', host: request.host }, upstream).catch(
    () => undefined,
  );
  if (answer?.statusCode !== 200) {
    answer?.resume();
    return unavailable(reply);
  }
  const settings = (await json(answer)) as { Codec?: object };
  return reply
    .header('cache-control', 'no-store')
    .send({ ...settings, Codec: { ...settings.Codec, Endpoint: endpoint } });
}

const unavailable = (reply: FastifyReply): FastifyReply =>
  reply.code(502).send('The Temporal UI does not answer. It may still be starting; try again in a moment.\n');

function ask(
  request: FastifyRequest,
  headers: IncomingHttpHeaders,
  upstream: string,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const outgoing = httpRequest(new URL(request.url, upstream), { method: request.method, headers });
    outgoing.once('response', resolve);
    outgoing.once('error', reject);
    request.raw.once('close', () => request.raw.destroyed && request.raw.aborted && outgoing.destroy());
    request.raw.pipe(outgoing);
  });
}
