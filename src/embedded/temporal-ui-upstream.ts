import { request as httpRequest, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import { json } from 'node:stream/consumers';
import type { FastifyReply, FastifyRequest } from 'fastify';

/** They belong to one connection, not to the message (RFC 9110, 7.6.1). */
const HOP_BY_HOP = [
  'connection',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
];

/** Hands a request on to Temporal's own web server, without our cookie, and its answer back. */
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

/** The UI's settings, with the address at which it has payloads decoded. */
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
  reply.code(502).send('Temporal does not answer; it may be starting.\n');

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

const withoutHops = (headers: IncomingHttpHeaders): IncomingHttpHeaders =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !HOP_BY_HOP.includes(name)));
