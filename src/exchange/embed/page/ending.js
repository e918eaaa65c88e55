import { announce, byId, contentOf, el, SECTIONS, show } from './dom.js';

/**
 * Why there is nothing to see: no token came with the address, its time is over, it or its key was revoked, it was refused
 * from the start, or there is no such patient for it.
 * @typedef {'none' | 'expired' | 'revoked' | 'refused' | 'gone'} Ending
 */

/** Only for a session. */
const PARTS = ['skip', 'nav', 'main'];
const AGAIN = 'Open it again from your application.';
/** @type {Record<Ending, {title: string, text: string}>} */
const WORDS = {
  none: {
    title: 'Nothing to show',
    text: 'Open this page from your application: it comes with a key that is good for a while.',
  },
  expired: { title: 'This view is closed', text: `Its time is over. ${AGAIN}` },
  revoked: { title: 'This view is closed', text: `Its access was ended. ${AGAIN}` },
  refused: {
    title: 'This view is closed',
    text: `The key that it was opened with is not good, or not any more. ${AGAIN}`,
  },
  gone: {
    title: 'Patient not found',
    text: 'There is no such patient here, or not any more. Ask whoever looks after your application.',
  },
};

/** Nothing of the person stays on the page. @param {Ending} reason */
export function showEnding(reason) {
  for (const id of SECTIONS) show(contentOf(id));
  document.querySelector('.news')?.remove();
  for (const id of [...PARTS, 'session', 'connection']) byId(id).hidden = true;
  byId('about').replaceChildren();
  const { title, text } = WORDS[reason];
  document.title = title;
  byId('name-text').textContent = title;
  document.getElementById('end')?.remove();
  byId('head').after(el('main.end', { id: 'end' }, el('p', {}, text)));
  if (reason === 'none') return;
  // In a frame that somebody is not in, it would take the focus from where they are.
  if (document.hasFocus()) byId('name').focus();
  announce(`${title}. ${text}`);
}

/** Makes room for the next session. */
export function clearEnding() {
  document.getElementById('end')?.remove();
  for (const id of PARTS) byId(id).hidden = false;
}
