import { el } from './dom.js';

/**
 * Adds elements to a list or a table: the first ones at once, the others on demand, so that a long record opens as fast as a
 * short one. The number of elements not shown is displayed, in print too.
 * @template T
 * @param {HTMLElement} list @param {readonly T[]} items @param {(item: T) => HTMLElement} draw
 * @param {{first: number, next: number, what: string, counts?: (item: T) => boolean, focus?: (drawn: HTMLElement) => HTMLElement | null}} options
 * `what`: completes the button's label for screen readers; `counts`: false for headings among the items
 * @returns {HTMLElement | undefined} the button for more, to be placed after the list; undefined if all are shown
 */
export function drawSome(
  list,
  items,
  draw,
  { first, next, what, counts = () => true, focus = (drawn) => drawn },
) {
  let shown = 0;
  /** @param {number} count */
  const add = (count) => {
    const drawn = items.slice(shown, shown + count).map(draw);
    list.append(...drawn);
    shown += drawn.length;
    return drawn;
  };
  add(first);
  if (shown >= items.length) return undefined;

  const button = el('button', { type: 'button' });
  const rest = el('span.quiet.small');
  const more = el('p.more', {}, button, rest);
  /** @param {number} begin @param {number} [end] */
  const count = (begin, end) =>
    items.slice(begin, end).filter(counts).length.toLocaleString('en-US');
  const updateButton = () => {
    if (shown >= items.length) return more.remove();
    button.textContent = `Show ${count(shown, shown + next)} more`;
    button.setAttribute('aria-label', `${button.textContent}: ${what}`);
    rest.textContent = `${count(0, shown)} of ${count(0)} are shown.`;
  };
  button.addEventListener('click', () => {
    const [begin] = add(next);
    updateButton();
    const target = begin && focus(begin);
    if (!target) return;
    if (target.tabIndex < 0) target.tabIndex = -1;
    target.focus();
  });
  updateButton();
  return more;
}
