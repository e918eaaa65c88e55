import { el } from './dom.js';

/**
 * Puts elements into a list or a table, the first of them at once and the others on demand, a few hundred at a time, so that
 * a long record opens as fast as a short one. What is not there yet is told, on paper too.
 * @template T
 * @param {HTMLElement} list @param {readonly T[]} items @param {(item: T) => HTMLElement} draw
 * @param {{first: number, next: number, what: string, counts?: (item: T) => boolean, focus?: (drawn: HTMLElement) => HTMLElement | null}} options
 * `what`: for those who hear a button alone; `counts`: false for what is only a heading among the items
 * @returns {HTMLElement | undefined} what asks for more, to be put after the list
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
  const count = (begin, end) => items.slice(begin, end).filter(counts).length.toLocaleString('en-US');
  const tell = () => {
    if (shown >= items.length) return more.remove();
    button.textContent = `Show ${count(shown, shown + next)} more`;
    button.setAttribute('aria-label', `${button.textContent}: ${what}`);
    rest.textContent = `${count(0, shown)} of ${count(0)} are shown.`;
  };
  button.addEventListener('click', () => {
    const [begin] = add(next);
    tell();
    const target = begin && focus(begin);
    if (!target) return;
    if (target.tabIndex < 0) target.tabIndex = -1;
    target.focus();
  });
  tell();
  return more;
}
