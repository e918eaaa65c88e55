// A FHIR narrative as elements of this page: only harmless elements, without attributes other than the span of a cell. Nothing is
// inserted as markup, so whatever a document says, it is shown and does nothing.

const KEPT = new Set(
  'p table caption thead tbody tfoot tr th td b strong i em u br ul ol li span h3 h4 h5 h6 dl dt dd'.split(
    ' ',
  ),
);
/** Dropped with what is in them. */
const DROPPED = new Set(['script', 'style', 'title', 'head']);
const TOKEN =
  /<!--[\s\S]*?-->|<(\/?)([a-zA-Z][\w:-]*)((?:[^<>"']|"[^"]*"|'[^']*')*)>|([^<]+|<)/g;
/** @type {Record<string, string>} */
const ENTITIES = {
  lt: '<',
  gt: '>',
  amp: '&',
  quot: '"',
  apos: "'",
  nbsp: '\u00a0',
};

/** @param {string} text */
const decoded = (text) =>
  text.replaceAll(
    /&(?:#(\d{1,7})|#x([\da-f]{1,6})|(\w+));/gi,
    (whole, decimal, hex, name) => {
      const code = decimal
        ? Number(decimal)
        : hex
          ? Number.parseInt(hex, 16)
          : undefined;
      if (code !== undefined)
        return code <= 0x10ffff ? String.fromCodePoint(code) : whole;
      return ENTITIES[name] ?? whole;
    },
  );

/** @param {string} xhtml the `div` of a Narrative @returns {HTMLElement} */
export function narrativeOf(xhtml) {
  const root = document.createElement('div');
  /** @type {{ name: string, element: Element }[]} */
  const open = [{ name: '', element: root }];
  let dropping = '';
  for (const [, closing, tag = '', attributes = '', text] of xhtml.matchAll(
    TOKEN,
  )) {
    const name = tag.toLowerCase();
    const parent = open.at(-1)?.element ?? root;
    if (dropping !== '') {
      if (closing && name === dropping) dropping = '';
    } else if (text !== undefined) parent.append(decoded(text));
    else if (DROPPED.has(name))
      dropping = closing || attributes.endsWith('/') ? '' : name;
    else if (closing) {
      const at = open.findLastIndex((each) => each.name === name);
      if (at > 0) open.length = at;
    } else if (KEPT.has(name)) {
      const element = document.createElement(name);
      const [, columns] =
        /\bcolspan\s*=\s*["'](\d{1,2})["']/.exec(attributes) ?? [];
      if (columns !== undefined) element.setAttribute('colspan', columns);
      parent.append(element);
      if (name !== 'br' && !attributes.endsWith('/'))
        open.push({ name, element });
    }
  }
  for (const table of root.querySelectorAll('table')) scrollable(table);
  return root;
}

/** Wide tables scroll by themselves, by keyboard too. @param {HTMLTableElement} table */
function scrollable(table) {
  for (const head of table.querySelectorAll('thead th'))
    head.setAttribute('scope', 'col');
  const frame = document.createElement('div');
  frame.className = 'scroll';
  frame.tabIndex = 0;
  frame.setAttribute('role', 'group');
  frame.setAttribute(
    'aria-label',
    table.querySelector('caption')?.textContent ?? 'Table',
  );
  table.replaceWith(frame);
  frame.append(table);
}
