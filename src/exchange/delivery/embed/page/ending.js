import { announce, byId, contentOf, el, SECTIONS, show } from './dom.js';

/**
 * Why the page shows no patient: no token in the URL; the token expired; it or its key was revoked; it was not accepted; or
 * the patient does not exist.
 * @typedef {'none' | 'expired' | 'revoked' | 'refused' | 'gone'} Ending
 */

/** Elements that are shown only during a session. */
const PARTS = ['skip', 'nav', 'main'];
const REOPEN = 'Open it again from your application.';
/** @type {Record<Ending, {title: string, text: string}>} */
const WORDS = {
  none: {
    title: 'Nothing to show',
    text: 'Open this page from your application. The link contains an access token that is valid for a limited time.',
  },
  expired: {
    title: 'This view is closed',
    text: `The session has expired. ${REOPEN}`,
  },
  revoked: {
    title: 'This view is closed',
    text: `Access to it was revoked. ${REOPEN}`,
  },
  refused: {
    title: 'This view is closed',
    text: `The access token is not valid or no longer valid. ${REOPEN}`,
  },
  gone: {
    title: 'Patient not found',
    text: 'This patient does not exist or was deleted. Contact the support team of your application.',
  },
};

/** Removes all personal data from the page and shows why the session ended. @param {Ending} reason */
export function showEnding(reason) {
  for (const id of SECTIONS) show(contentOf(id));
  document.querySelector('.news')?.remove();
  for (const id of [...PARTS, 'session', 'connection']) byId(id).hidden = true;
  for (const id of ['born', 'life', 'gender']) byId(id).textContent = '';
  const { title, text } = WORDS[reason];
  document.title = title;
  byId('name-text').textContent = title;
  document.getElementById('end')?.remove();
  byId('head').after(el('main.end', { id: 'end' }, el('p', {}, text)));
  if (reason === 'none') return;
  // In a frame without focus, moving the focus here would take it from the host page.
  if (document.hasFocus()) byId('name').focus();
  announce(`${title}. ${text}`);
}

/** Shows the parts of a session again. */
export function clearEnding() {
  document.getElementById('end')?.remove();
  for (const id of PARTS) byId(id).hidden = false;
}
