import type { FastifyInstance } from 'fastify';
import { marked } from 'marked';
import {
  ERROR_CODES,
  ERROR_KINDS,
  ERROR_NAMES,
  type ErrorCode,
  type ErrorKind,
  errorPagePath,
} from '../../../../contract/errors.ts';
import { escapeHtml } from '../../../../lib/escape.ts';
import { sendNoticePage } from '../../../../lib/pages/notice-page.ts';
import { NotFoundError } from '../../errors.ts';

/** What `/` leads to: the path, and what is there. */
const ENTRIES = {
  reference: ['/reference', 'The API reference, to search and to try'],
  openapi: ['/openapi.json', 'The same for tools (OpenAPI 3.1)'],
  collection: [
    '/collection.json',
    'All requests as a collection for Postman, Bruno or Insomnia',
  ],
  requests: ['/requests.http', 'All requests for an editor'],
  llms: ['/llms.txt', 'The operations for a language model'],
  errors: ['/errors', 'Every kind of error, by its code'],
  ready: ['/ready', 'Whether the service is ready, and its sources'],
} as const satisfies Readonly<Record<string, readonly [string, string]>>;

/**
 * The page at the address of the gateway, as JSON for programs, and a page for
 * each kind of error, which the `type` of an error names.
 */
export function addFrontPages(
  app: FastifyInstance,
  publicBaseUrl: string,
): void {
  const schema = { hide: true };
  const link = (path: string, text: string) =>
    `<a href="${escapeHtml(publicBaseUrl + path)}">${escapeHtml(text)}</a>`;

  app.get('/', { schema, config: { operation: 'front' } }, (request, reply) => {
    if (request.headers.accept?.includes('text/html'))
      return sendNoticePage(
        reply,
        'Medical data exchange',
        `<ul>${Object.values(ENTRIES)
          .map(([path, text]) => `<li>${link(path, text)}</li>`)
          .join('')}</ul>`,
      );
    const addresses = Object.entries(ENTRIES).map(([name, [path]]) => [
      name,
      publicBaseUrl + path,
    ]);
    return {
      name: 'Medical data exchange',
      api: `${publicBaseUrl}/medical/v1`,
      ...Object.fromEntries(addresses),
    };
  });

  app.get(
    '/errors',
    { schema, config: { operation: 'errorPage' } },
    (_request, reply) =>
      sendNoticePage(
        reply,
        'Errors',
        `<p>Each error is a problem document (RFC 9457). Its code says which of these kinds it is.</p><ul>${ERROR_CODES.map(
          (code) =>
            `<li>${ERROR_KINDS[code].status} ${link(errorPagePath(code), code)}: ${inline(ERROR_KINDS[code].meaning)}</li>`,
        ).join('')}</ul>`,
      ),
  );
  app.get<{ Params: { code: string } }>(
    '/errors/:code',
    { schema, config: { operation: 'errorPage' } },
    ({ params: { code } }, reply) => {
      if (!isErrorCode(code)) throw new NotFoundError('Kind of error');
      const { status, meaning, remedy }: ErrorKind = ERROR_KINDS[code];
      return sendNoticePage(
        reply,
        code,
        `<p>Status ${status}, ${ERROR_NAMES[status]}.</p><p>${inline(meaning)}</p><p>${inline(remedy)}</p><p>${link('/errors', 'All kinds of errors')}</p>`,
      );
    },
  );
}

const isErrorCode = (code: string): code is ErrorCode =>
  Object.hasOwn(ERROR_KINDS, code);

const inline = (text: string): string =>
  marked.parseInline(text, { async: false });
