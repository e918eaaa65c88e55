import { CallError, messageOf } from './api.js';
import { announce, contentOf, el, show } from './dom.js';
import { drawSome } from './more.js';
import { dayText, sizeText, sourceName } from './words.js';

/** @typedef {{id: string, fileName: string, description?: string, indexed?: string, mimeType: string, size: number, source: string, type?: any}} Document */

const ROWS = { first: 8, next: 100 };
/** A longer text is only to be downloaded, so that the page stays quick. */
const TEXT_MAX = 200_000;

/** @param {Document[]} documents newest first @param {import('./api.js').Api} api */
export function showDocuments(documents, api) {
  const content = contentOf('documents');
  if (documents.length === 0)
    return show(
      content,
      el('p.quiet', {}, 'The sources have delivered no documents.'),
    );
  const list = el('ul.documents');
  const more = drawSome(list, documents, (each) => line(each, api), {
    ...ROWS,
    what: 'documents',
    focus: (drawn) => drawn.querySelector('button'),
  });
  show(content, list, ...(more ? [more] : []));
}

/** @param {Document} document @param {import('./api.js').Api} api */
function line(
  { fileName, description, type, indexed, mimeType, size, source },
  api,
) {
  const isXml = /\bxml\b/.test(mimeType) || /\bxml$/.test(fileName);
  const isText = /^text\/plain\b/i.test(mimeType) && size <= TEXT_MAX;
  const title =
    description ?? nameOf(type) ?? (isXml ? 'Clinical document' : 'Document');
  const when = dayText(indexed);
  const problem = el('p.reason', { role: 'alert', hidden: true });
  const note = el('pre.note', {
    dir: 'auto',
    tabindex: '0',
    'aria-label': title,
    hidden: true,
  });
  /** Shows the text below the line; the second time, hides it. @param {string} url */
  const read = async (url) => {
    if (note.textContent === '') note.textContent = await textAt(url);
    note.hidden = !note.hidden;
    if (!note.hidden) note.focus();
  };
  /** @param {string} label @param {string} [conversionType] @param {(url: string) => unknown} [open] */
  const button = (label, conversionType, open = follow) =>
    el(
      'button',
      {
        type: 'button',
        'aria-label': [label, title, when].filter(Boolean).join(', '),
        onclick: async (/** @type {Event} */ { currentTarget }) => {
          const pressed = /** @type {HTMLButtonElement} */ (currentTarget);
          pressed.setAttribute('aria-disabled', 'true');
          problem.hidden = true;
          try {
            const query = new URLSearchParams({
              fileName,
              ...(conversionType && { conversionType }),
            });
            const { url } = await api.read(`document/download-url?${query}`);
            await open(url);
            announce(
              `${title}: ${open === read && note.hidden ? 'closed' : 'opened'}`,
            );
          } catch (error) {
            problem.textContent = messageOf(error, 'The document');
            problem.hidden = false;
          }
          pressed.removeAttribute('aria-disabled');
        },
      },
      label,
    );
  return el(
    'li',
    {},
    el(
      'div.what',
      {},
      el('p.title', {}, el('bdi', {}, title)),
      el(
        'p.quiet.small',
        {},
        [when, sourceName(source), sizeText(size).replace(' ', '\u00a0')]
          .filter(Boolean)
          .join(' · '),
      ),
    ),
    el(
      'p.actions',
      {},
      ...(isXml ? [button('Open', 'html'), button('PDF', 'pdf')] : []),
      ...(isText ? [button('Read', undefined, read)] : []),
      button('Download'),
    ),
    problem,
    note,
  );
}

/** The name of a FHIR CodeableConcept. @param {any} type @returns {string | undefined} */
const nameOf = (type) => type?.text ?? type?.coding?.[0]?.display;

/** @param {string} url of a plain text, at this gateway @returns {Promise<string>} */
async function textAt(url) {
  const answer = await fetch(new URL(url).pathname, {
    cache: 'no-store',
    referrerPolicy: 'no-referrer',
  });
  if (!answer.ok) throw new CallError(answer.status, 'the link has expired');
  return answer.text();
}

/** Opens a URL (valid for a minute, without personal data) in a new tab that has no access to this one. @param {string} url */
function follow(url) {
  el('a', { href: url, target: '_blank', rel: 'noopener noreferrer' }).click();
}
