import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { extname } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { CHART_STYLE } from '#record-summary';
import { THEME } from '../../../lib/pages/notice-page.ts';
import { findAccounts } from '../../access/accounts/account-store.ts';
import { NotFoundError, orNotFound } from '../../platform/errors.ts';
import type { GatewayPlatform } from '../../platform/http/deps.ts';
import { strangersLookUp } from '../../platform/limits/strangers-look-up.ts';

const FOLDER = new URL('./page/', import.meta.url);
const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

interface Asset {
  content: Buffer | string;
  type: string;
  eTag: string;
}

/**
 * The embedded patient page: the same document for all patients, without
 * personal data. Its script loads the patient's data with the token in the
 * URL's fragment, which browsers do not send to servers.
 */
export function addEmbedPageRoutes(
  app: FastifyInstance,
  deps: Pick<GatewayPlatform, 'store' | 'publicBaseUrl'>,
): void {
  const assets = readAssets(FOLDER);
  // Loads all modules at once, instead of one after another as imports are
  // discovered.
  const modules = [...assets.keys()]
    .filter((name) => name.endsWith('.js'))
    .map(
      (name) => `<link rel="modulepreload" href="{base}/embed/assets/${name}">`,
    );
  const page = pageOf(FOLDER, deps.publicBaseUrl, modules);
  const accountOf = strangersLookUp(deps.store, (ids) =>
    deps.store.asSystem((tx) => findAccounts(tx, ids)),
  );

  app.get<{ Params: { account: string; id: string } }>(
    '/embed/:account/patient/:id',
    { schema: { hide: true }, config: { operation: 'embedPage' } },
    async (request, reply) => {
      const { account: accountId } = request.params;
      const account = UUID.test(accountId)
        ? await accountOf(accountId.toLowerCase())
        : undefined;
      if (account === undefined) throw new NotFoundError('Account');
      // frame-ancestors replaces this header, which cannot allow specific
      // origins.
      reply.raw.removeHeader('x-frame-options');
      return reply
        .headers(headersOf(account.settings.embed?.frameAncestors ?? []))
        .send(page);
    },
  );

  addAssets(app, '/embed/assets', assets);
}

/**
 * A page that is the same for everyone, with its assets below it. Its script
 * gets what it is about from the URL's fragment.
 */
export function addStaticPage(
  app: FastifyInstance,
  {
    folder,
    path,
    publicBaseUrl,
  }: { folder: URL; path: string; publicBaseUrl: string },
): void {
  const page = pageOf(folder, publicBaseUrl);
  const options = {
    schema: { hide: true },
    config: { operation: 'staticPage' },
  };
  app.get(path, options, async (_request, reply) =>
    reply.headers(headersOf([])).send(page),
  );
  addAssets(app, `${path}/assets`, readAssets(folder));
}

const headersOf = (frameAncestors: readonly string[]) => ({
  'content-security-policy': pagePolicy(frameAncestors),
  'content-type': 'text/html; charset=utf-8',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-cache',
});

const pageOf = (
  folder: URL,
  publicBaseUrl: string,
  modules: readonly string[] = [],
): string =>
  readFileSync(new URL('index.html', folder), 'utf8')
    .replace('{modules}', modules.join('\n'))
    .replaceAll('{base}', new URL(publicBaseUrl).pathname.replace(/\/$/, ''));

function addAssets(
  app: FastifyInstance,
  path: string,
  assets: ReadonlyMap<string, Asset>,
): void {
  app.get<{ Params: { file: string } }>(
    `${path}/:file`,
    { schema: { hide: true }, config: { operation: 'embedAsset' } },
    async (request, reply) => {
      const asset = orNotFound('File', assets.get(request.params.file));
      reply.headers({ 'cache-control': 'no-cache', etag: asset.eTag });
      if (request.headers['if-none-match'] === asset.eTag)
        return reply.code(304).send();
      return reply.type(asset.type).send(asset.content);
    },
  );
}

/** Reads all assets into memory; together they are only some kilobytes. */
function readAssets(folder: URL): Map<string, Asset> {
  const files = readdirSync(folder).map(
    (name) => [name, readFileSync(new URL(name, folder))] as const,
  );
  const shared = Object.entries({
    'theme.css': THEME,
    'charts.css': CHART_STYLE,
  });
  return new Map(
    [...files, ...shared].flatMap(([name, content]): [string, Asset][] => {
      const type = TYPES[extname(name)];
      if (type === undefined) return [];
      const eTag = `"${createHash('sha256').update(content).digest('base64url').slice(0, 22)}"`;
      return [[name, { content, type, eTag }]];
    }),
  );
}

/**
 * A valid origin, as stored by the admin CLI; any other text could inject
 * further directives into the policy.
 */
const ORIGIN = /^https?:\/\/[\w.:[\]-]+$/;

/**
 * The Content-Security-Policy of the embedded page: only its own scripts,
 * styles and requests, no HTML from strings, and framing only by pages of the
 * account's origins.
 */
export function pagePolicy(frameAncestors: readonly string[]): string {
  const ancestors = frameAncestors.filter((origin) => ORIGIN.test(origin));
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    `frame-ancestors ${ancestors.length === 0 ? "'none'" : ancestors.join(' ')}`,
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; ');
}
