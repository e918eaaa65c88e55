import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { FastifyReply } from 'fastify';
import { escapeHtml } from '../escape.ts';

/**
 * The style sheet that all our pages share: palette, light and dark, and
 * basics.
 */
export const THEME: string = readFileSync(
  new URL('theme.css', import.meta.url),
  'utf8',
);

const STYLE = `${THEME}
${readFileSync(new URL('notice.css', import.meta.url), 'utf8')}`;

/** Only the style above; a page with a form may send it to its own address. */
const POLICY = `default-src 'none'; style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'; base-uri 'none'; frame-ancestors 'none'`;

/**
 * A page of a few sentences for a person, without scripts. `content` is HTML.
 */
const noticePage = (title: string, content: string): string =>
  `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title><style>${STYLE}</style></head>
<body><main><h1>${escapeHtml(title)}</h1>${content}</main></body></html>
`;

/**
 * The address may be a secret, so it must not be sent as a referrer, and the
 * page must not be cached.
 */
export const sendNoticePage = (
  reply: FastifyReply,
  title: string,
  content: string,
): FastifyReply =>
  reply
    .headers({
      'content-security-policy': POLICY,
      'referrer-policy': 'no-referrer',
      'cache-control': 'no-store',
    })
    .type('text/html; charset=utf-8')
    .send(noticePage(title, content));

/** One paragraph of plain text. */
export const sendNotice = (
  reply: FastifyReply,
  title: string,
  text: string,
): FastifyReply => sendNoticePage(reply, title, `<p>${escapeHtml(text)}</p>`);
