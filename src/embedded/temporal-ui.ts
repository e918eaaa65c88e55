import { randomBytes } from 'node:crypto';
import { type FastifyRequest, fastify } from 'fastify';
import { parseKeyRing } from '../lib/key-ring.ts';
import { CODEC_BODY_BYTES_MAX, createDecoder, isSame, NO_PAYLOADS } from '../temporal/codec-server.ts';
import { forward, settingsWithCodec } from './temporal-ui-upstream.ts';

export interface TemporalUiOptions {
  dataKeys: string;
  /** Bearer token with which the Temporal CLI has payloads decoded. */
  codecToken: string;
  port: number;
  /** Temporal's own web server, which asks for no login and decodes nothing. */
  upstream: string;
}

/** The UI of the stack's Temporal, for its operator only. */
export interface TemporalUi {
  readonly url: string;
  readonly codecUrl: string;
  /** Opens the UI in one browser, once: the address of a page stands in the arguments of a browser that it starts. */
  link(): string;
  /** Called when a link was used, with the one that takes its place. */
  onNextLink(listener: (link: string) => Promise<void>): void;
  close(): Promise<void>;
}

const HOST = '127.0.0.1';
const newSecret = (): string => randomBytes(32).toString('base64url');

/**
 * Every user of this machine reaches a port on loopback, and Temporal's own UI asks for no login. So payloads are
 * decoded here, on a port in front of it: for a browser that has opened the link which only the operator can read
 * (terminal, connection.json), and under the same origin, so that the browser sends its cookie along.
 */
export async function startTemporalUi(options: TemporalUiOptions): Promise<TemporalUi> {
  const { port, upstream, codecToken } = options;
  const decode = createDecoder(parseKeyRing(options.dataKeys));
  const hosts = [`${HOST}:${port}`, `localhost:${port}`];
  // Browsers share cookies between the ports of a host; two stacks must not sign each other out.
  const cookie = `temporal-ui-${port}`;
  const session = newSecret();
  let code = newSecret();
  let announce = async (_link: string): Promise<void> => undefined;
  const url = `http://${HOST}:${port}`;
  const link = () => `${url}/open/${code}`;

  const app = fastify({ logger: false, bodyLimit: CODEC_BODY_BYTES_MAX, exposeHeadRoutes: false });
  app.addHook('onRequest', async (request, reply) => {
    reply.header('x-frame-options', 'DENY');
    // Another name for this address would be a page that has its name resolved to us (DNS rebinding).
    if (!hosts.includes(request.host)) return reply.code(421).send(`Open ${url}\n`);
    const { origin } = request.headers;
    if (origin !== undefined && origin !== `http://${request.host}`)
      return reply.code(403).send('Another page may not ask here.\n');
    if (isOpening(request) || isSame(cookieOf(request, cookie), session)) return;
    if (isDecoding(request) && isSame(bearerOf(request), codecToken)) return;
    return reply
      .code(401)
      .send(
        'This is its operator’s: open the link that `npm start` printed, or temporalUiLink of connection.json.\n',
      );
  });

  app.get<{ Params: { code: string } }>('/open/:code', async (request, reply) => {
    if (!isSame(request.params.code, code))
      return reply
        .code(403)
        .send('A link works once. The next one is temporalUiLink of connection.json in the data folder.\n');
    code = newSecret();
    await announce(link());
    return reply
      .header('set-cookie', `${cookie}=${session}; HttpOnly; SameSite=Strict; Path=/`)
      .header('cache-control', 'no-store')
      .redirect('/', 303);
  });

  app.post('/codec/decode', async (request, reply) => {
    reply.header('cache-control', 'no-store');
    return (await decode(request.body)) ?? reply.code(400).send(NO_PAYLOADS);
  });

  app.get('/api/v1/settings', (request, reply) =>
    settingsWithCodec(request, reply, upstream, `http://${request.host}/codec`),
  );

  await app.register(async (scope) => {
    // Bodies go on as they come.
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', (_request, body, done) => done(null, body));
    scope.all('/*', (request, reply) => forward(request, reply, upstream, cookie));
  });

  await app.listen({ host: HOST, port });
  return {
    url,
    codecUrl: `${url}/codec`,
    link,
    onNextLink: (listener) => {
      announce = listener;
    },
    close: () => app.close(),
  };
}

const isOpening = (request: FastifyRequest): boolean => request.routeOptions.url === '/open/:code';
const isDecoding = (request: FastifyRequest): boolean => request.routeOptions.url === '/codec/decode';

const bearerOf = ({ headers }: FastifyRequest): string =>
  /^Bearer (\S+)$/i.exec(headers.authorization ?? '')?.[1] ?? '';

function cookieOf({ headers }: FastifyRequest, name: string): string {
  const pairs = (headers.cookie ?? '').split(/; */);
  return pairs.find((pair) => pair.startsWith(`${name}=`))?.slice(name.length + 1) ?? '';
}
