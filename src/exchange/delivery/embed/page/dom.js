// The only place that creates elements. All content is inserted as text, never as markup.

/**
 * @param {string} tag with classes, as in `p.note.quiet`
 * @param {Record<string, unknown>} [properties] attributes; `on…` listeners; false and undefined omit it
 * @param {...(Node | string | null | undefined | false)} children
 * @returns {HTMLElement}
 */
export function el(tag, properties = {}, ...children) {
  const [name, ...classes] = tag.split('.');
  const element = document.createElement(name ?? 'div');
  if (classes.length > 0) element.className = classes.join(' ');
  for (const [key, value] of Object.entries(properties)) {
    if (value === undefined || value === false) continue;
    if (key.startsWith('on'))
      element.addEventListener(
        key.slice(2),
        /** @type {EventListener} */ (value),
      );
    else element.setAttribute(key, value === true ? '' : String(value));
  }
  element.append(...children.filter(isThere));
  return element;
}

/** @param {string} tag @param {Record<string, string | number>} [attributes] @param {...(Node | string)} children */
export function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [key, value] of Object.entries(attributes))
    element.setAttribute(key, String(value));
  element.append(...children);
  return element;
}

/** @param {Node | string | null | undefined | false} child @returns {child is Node | string} */
const isThere = (child) =>
  child !== null && child !== undefined && child !== false && child !== '';

/** The sections of the page, in order. */
export const SECTIONS = ['queries', 'record', 'documents', 'person'];

/** @param {string} id @returns {HTMLElement} */
export function byId(id) {
  const element = document.getElementById(id);
  if (element === null) throw new Error(`the page has no #${id}`);
  return element;
}

/** @param {string} id of a section @returns {HTMLElement} */
export const contentOf = (id) =>
  /** @type {HTMLElement} */ (byId(id).querySelector('.content'));

/** Shows a loading state with a placeholder. @param {HTMLElement} content @param {string} what */
export function showLoading(content, what) {
  content.setAttribute('aria-busy', 'true');
  content.replaceChildren(
    el('p.loading', {}, `Loading ${what}…`),
    el(
      'div.bones',
      { 'aria-hidden': 'true' },
      el('span'),
      el('span'),
      el('span'),
    ),
  );
}

/** @param {HTMLElement} content @param {...Node} children */
export function show(content, ...children) {
  content.removeAttribute('aria-busy');
  content.replaceChildren(...children);
}

/**
 * Shows an error message with a button to try again.
 * @param {HTMLElement} content @param {string} message @param {() => void} again
 */
export function showError(content, message, again) {
  show(
    content,
    el(
      'div.error',
      { role: 'alert' },
      el('p', {}, message),
      el('button', { type: 'button', onclick: again }, 'Try again'),
    ),
  );
}

/**
 * Sets a text only if it has changed, so that the reader's selection is kept. Hides the element if the text is empty.
 * @param {HTMLElement} element @param {string} text
 */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
  element.hidden = text === '';
}

let clearing = 0;

/** Announces a message to screen readers (a polite live region). @param {string} message */
export function announce(message) {
  const status = byId('status');
  status.textContent = message;
  clearTimeout(clearing);
  clearing = setTimeout(() => {
    status.textContent = '';
  }, 10_000);
}
