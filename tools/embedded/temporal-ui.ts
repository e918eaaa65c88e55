import { randomBytes } from 'node:crypto';
import {
  request as httpRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
} from 'node:http';
import { json } from 'node:stream/consumers';
import { type FastifyReply, type FastifyRequest, fastify } from 'fastify';
import { withoutHops } from '../../src/lib/hop-by-hop.ts';
import { parseKeyRing } from '../../src/lib/key-ring.ts';
import {
  CODEC_BODY_BYTES_MAX,
  createDecoder,
  isSameSecret,
  NO_PAYLOADS,
} from '../../src/temporal/codec-server.ts';

export interface TemporalUiOptions {
  dataKeys: string;
  /** Bearer token that the Temporal CLI uses to have payloads decoded. */
  codecToken: string;
  port: number;
  /** Temporal's own web server, which has no login and decodes nothing. */
  upstream: string;
}

/** The UI of the stack's Temporal, with a login for its operator. */
export type StackTemporalUi = Awaited<ReturnType<typeof startTemporalUi>>;

const HOST = '127.0.0.1';
const newSecret = (): string => randomBytes(32).toString('base64url');

/**
 * A closed query, import or export is COMPLETED for Temporal; how it ended is
 * in our attribute. Kept by the UI in the browser.
 */
const COLUMNS = [
  'Status',
  'QueryStatus',
  'Workflow ID',
  'Type',
  'Start',
  'End',
].map((label) => ({ label }));
/**
 * Sets the columns of the UI's list unless the operator has chosen some, and
 * goes there.
 */
const OPENING_PAGE = `<!doctype html><title>Temporal UI</title><script>
const key = 'namespace-workflow-table-columns';
const chosen = JSON.parse(localStorage.getItem(key) ?? '{}');
localStorage.setItem(key, JSON.stringify({ default: ${JSON.stringify(COLUMNS)}, ...chosen }));
location.replace('/');
</script><a href="/">Open the Temporal UI</a>`;

/**
 * Starts a login in front of Temporal's own UI, which has none although every
 * user of this machine can reach a port on loopback. A browser signs in with a
 * link that only the operator can read (terminal, connection.json). Payloads
 * are decoded here, under the same origin, so that the browser sends its cookie
 * with the request.
 */
export async function startTemporalUi(options: TemporalUiOptions) {
  const { port, upstream, codecToken } = options;
  const decode = createDecoder(parseKeyRing(options.dataKeys));
  const hosts = [`${HOST}:${port}`, `localhost:${port}`];
  // Browsers share cookies between the ports of a host; the sessions of two
  // stacks must not overwrite each other.
  const cookie = `temporal-ui-${port}`;
  const session = newSecret();
  let code = newSecret();
  let announce = async (_link: string): Promise<void> => undefined;
  const url = `http://${HOST}:${port}`;
  /**
   * A link that opens the UI once, because other users can see the address in
   * the arguments of a browser process.
   */
  const link = () => `${url}/open/${code}`;

  const app = fastify({
    logger: false,
    bodyLimit: CODEC_BODY_BYTES_MAX,
    exposeHeadRoutes: false,
  });
  app.addHook('onRequest', async (request, reply) => {
    reply.header('x-frame-options', 'DENY');
    // Any other host name may be that of a foreign page that resolves to this
    // address (DNS rebinding).
    if (!hosts.includes(request.host))
      return reply.code(421).send(`Use this address instead: ${url}\n`);
    const { origin } = request.headers;
    if (origin !== undefined && origin !== `http://${request.host}`)
      return reply
        .code(403)
        .send('Requests from pages of another origin are not allowed.\n');
    if (isOpening(request) || isSameSecret(cookieOf(request, cookie), session))
      return;
    if (isDecoding(request) && isSameSecret(bearerOf(request), codecToken))
      return;
    return reply
      .code(401)
      .send(
        'Please sign in: open the link that "npm start" printed, or temporalUiLink of connection.json in the data folder.\n',
      );
  });

  app.get<{ Params: { code: string } }>(
    '/open/:code',
    async (request, reply) => {
      if (!isSameSecret(request.params.code, code))
        return reply
          .code(403)
          .send(
            'This link has already been used. The next link is temporalUiLink of connection.json in the data folder.\n',
          );
      code = newSecret();
      await announce(link());
      return reply
        .header(
          'set-cookie',
          `${cookie}=${session}; HttpOnly; SameSite=Strict; Path=/`,
        )
        .header('cache-control', 'no-store')
        .type('text/html; charset=utf-8')
        .send(OPENING_PAGE);
    },
  );

  app.post('/codec/decode', async (request, reply) => {
    reply.header('cache-control', 'no-store');
    return (await decode(request.body)) ?? reply.code(400).send(NO_PAYLOADS);
  });

  app.get('/api/v1/settings', (request, reply) =>
    settingsWithCodec(request, reply, upstream, `http://${request.host}/codec`),
  );

  await app.register(async (scope) => {
    // Bodies are forwarded unparsed.
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', (_request, body, done) => done(null, body));
    scope.all('/*', (request, reply) =>
      forward(request, reply, upstream, cookie),
    );
  });

  await app.listen({ host: HOST, port });
  return {
    url,
    codecUrl: `${url}/codec`,
    link,
    /** Sets the listener that receives the next link after a link was used. */
    onNextLink: (listener: (link: string) => Promise<void>): void => {
      announce = listener;
    },
    close: (): Promise<void> => app.close(),
  };
}

const isOpening = (request: FastifyRequest): boolean =>
  request.routeOptions.url === '/open/:code';
const isDecoding = (request: FastifyRequest): boolean =>
  request.routeOptions.url === '/codec/decode';

const bearerOf = ({ headers }: FastifyRequest): string =>
  /^Bearer (\S+)$/i.exec(headers.authorization ?? '')?.[1] ?? '';

function cookieOf({ headers }: FastifyRequest, name: string): string {
  const pairs = (headers.cookie ?? '').split(/; */);
  return (
    pairs.find((pair) => pair.startsWith(`${name}=`))?.slice(name.length + 1) ??
    ''
  );
}

/**
 * Forwards a request, without our cookie, to Temporal's own web server, and
 * returns its response.
 */
async function forward(
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

/**
 * Returns the UI's settings, with the address of the codec endpoint that
 * decodes payloads.
 */
async function settingsWithCodec(
  request: FastifyRequest,
  reply: FastifyReply,
  upstream: string,
  endpoint: string,
): Promise<FastifyReply> {
  const answer = await ask(
    request,
    { accept: 'application/json', host: request.host },
    upstream,
  ).catch(() => undefined);
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
  reply
    .code(502)
    .send(
      'The Temporal UI does not answer. It may still be starting; try again in a moment.\n',
    );

const ask = (
  request: FastifyRequest,
  headers: IncomingHttpHeaders,
  upstream: string,
): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    const outgoing = httpRequest(new URL(request.url, upstream), {
      method: request.method,
      headers,
    });
    outgoing.once('response', resolve);
    outgoing.once('error', reject);
    request.raw.once(
      'close',
      () => request.raw.destroyed && request.raw.aborted && outgoing.destroy(),
    );
    request.raw.pipe(outgoing);
  });
