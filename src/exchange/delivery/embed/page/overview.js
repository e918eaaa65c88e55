import { el } from './dom.js';

/** @typedef {{text: string, detail: string, tone?: string}} Item */
/** @typedef {{title: string, items: Item[], notes: {text: string, tone?: string}[], rest?: {text: string, section: string}}} Block */

/** The overview of a record: what a reader needs first, and how much more each section has. @param {Block[]} blocks */
export function overviewOf(blocks) {
  return el('div.overview', {}, ...blocks.map(blockOf));
}

/** @param {Block} block */
function blockOf({ title, items, notes, rest }) {
  return el(
    'div.block',
    {},
    el('h3', {}, title),
    items.length > 0 && el('ul', {}, ...items.map(itemOf)),
    ...notes.map(({ text, tone }) =>
      el(tone === undefined ? 'p.quiet.small' : `p.small.${tone}`, {}, text),
    ),
    rest !== undefined && el('p.small', {}, linkTo(rest)),
  );
}

/** @param {Item} item */
const itemOf = ({ text, detail, tone }) =>
  el(
    'li',
    {},
    el(tone === 'alert' ? 'bdi.alert' : 'bdi.what', {}, text),
    ' ',
    el('bdi.quiet.small', {}, detail),
  );

/** A link that also expands the section, which may be closed. @param {{text: string, section: string}} rest */
function linkTo({ text, section }) {
  const id = sectionId(section);
  const open = () => {
    const part = document.getElementById(id);
    if (part instanceof HTMLDetailsElement) part.open = true;
  };
  return el('a', { href: `#${id}`, onclick: open }, text);
}

/** @param {string} section as the summary names it */
export const sectionId = (section) => `record-${section}`;
