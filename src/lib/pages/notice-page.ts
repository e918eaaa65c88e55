import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { FastifyReply } from 'fastify';
import { escapeHtml } from '../escape.ts';

/** The style sheet that all our pages share: palette, light and dark, and basics. */
export const THEME: string = readFileSync(new URL('theme.css', import.meta.url), 'utf8');

const STYLE = `${THEME}
body { padding: clamp(1rem, 8vh, 6rem) 1rem; font-size: 1.06rem; line-height: 1.55; }
main { max-width: 38rem; margin: 0 auto; padding: 1.5rem clamp(1rem, 5vw, 2rem); background: var(--card);
  border: 1px solid var(--line); border-radius: .75rem; }
h1 { margin: 0 0 .8rem; font-size: 1.5rem; line-height: 1.2; }
p, ul { margin: .8rem 0 0; }
ul { padding-left: 1.2rem; }
form { display: flex; flex-wrap: wrap; gap: .6rem; margin-top: 1.4rem; }
button { font: inherit; min-height: 2.75rem; padding: .3rem 1rem; color: var(--accent); background: var(--card);
  border: 1px solid currentColor; border-radius: .45rem; cursor: pointer; }
button:first-child { color: var(--card); background: var(--accent); border-color: var(--accent); }
`;

/** Only the style above; a page with a form may send it to its own address. */
const POLICY = `default-src 'none'; style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'; base-uri 'none'; frame-ancestors 'none'`;

/** A page of a few sentences for a person, without scripts. `content` is HTML. */
const noticePage = (title: string, content: string): string =>
  `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title><style>${STYLE}</style></head>
<body><main><h1>${escapeHtml(title)}</h1>${content}</main></body></html>
`;

/** The address may be a secret, so it must not be sent as a referrer, and the page must not be cached. */
export const sendNoticePage = (reply: FastifyReply, title: string, content: string): FastifyReply =>
  reply
    .headers({
      'content-security-policy': POLICY,
      'referrer-policy': 'no-referrer',
      'cache-control': 'no-store',
    })
    .type('text/html; charset=utf-8')
    .send(noticePage(title, content));

/** One paragraph of plain text. */
export const sendNotice = (reply: FastifyReply, title: string, text: string): FastifyReply =>
  sendNoticePage(reply, title, `<p>${escapeHtml(text)}</p>`);
