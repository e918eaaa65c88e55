import { readFileSync } from 'node:fs';
import type { FastifyInstance } from 'fastify';
import { THEME } from '../../../../../lib/pages/theme.ts';
import type { OpenApiDocument } from '../open-api-document.ts';
import { referencePage } from './page.ts';

/** Only its own script, style and requests. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'";

/** Serves the API reference at `/reference`. The page is made at the first request, when all routes are registered. */
export function addReferencePage(
  app: FastifyInstance,
  publicBaseUrl: string,
  readDocument: () => OpenApiDocument,
): void {
  const base = new URL(publicBaseUrl).pathname.replace(/\/$/, '');
  let page: string | undefined;
  app.get('/reference', { schema: { hide: true }, config: { operation: 'reference' } }, (_request, reply) => {
    page ??= referencePage(readDocument(), base);
    return reply
      .headers({ 'content-security-policy': POLICY, 'cache-control': 'no-cache' })
      .type('text/html; charset=utf-8')
      .send(page);
  });
  for (const [file, type, content] of [
    ['theme.css', 'text/css; charset=utf-8', THEME],
    ['reference.css', 'text/css; charset=utf-8', readFileSync(new URL('reference.css', import.meta.url))],
    [
      'reference.js',
      'text/javascript; charset=utf-8',
      readFileSync(new URL('reference.js', import.meta.url)),
    ],
  ] as const)
    app.get(
      `/reference/${file}`,
      { schema: { hide: true }, config: { operation: 'referenceAsset' } },
      (_request, reply) => reply.header('cache-control', 'no-cache').type(type).send(content),
    );
}
