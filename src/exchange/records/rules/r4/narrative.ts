/**
 * The elements and attributes of XHTML that a narrative may have (FHIR R4,
 * section 2.4.0, txt-1): no scripts, forms, frames, objects or styles of a whole
 * document.
 */
const ELEMENTS: ReadonlySet<string> = new Set(
  'a abbr acronym address area b bdo big blockquote br caption cite code col colgroup dd dfn div dl dt em h1 h2 h3 h4 h5 h6 hr i img kbd li map ol p pre q samp small span strong sub sup table tbody td tfoot th thead tr tt ul var'.split(
    ' ',
  ),
);
const ATTRIBUTES: ReadonlySet<string> = new Set(
  'abbr accesskey align alt axis bgcolor border cellhalign cellpadding cellspacing cellvalign char charoff charset cite class colspan compact coords dir frame headers height href hreflang id lang longdesc name nowrap rel rev rowspan rules scope shape span src start style summary tabindex title type usemap valign value width xml:lang xmlns'.split(
    ' ',
  ),
);
const TAG = /<([^>]*)>/g;
const ATTRIBUTE = /([^\s=/"']+)\s*=\s*("[^"]*"|'[^']*')/g;
const ADDRESS = /^["']\s*(?:https?:|mailto:|tel:|data:image\/|#|[^:&]*["']$)/i;

/** What is wrong with the `div` of a narrative; undefined: nothing. */
export function narrativeFault(value: unknown): string | undefined {
  const div = String(value);
  if (!/^\s*<div[\s>]/.test(div) || !/<\/div>\s*$/.test(div))
    return 'must be one div of XHTML';
  const tags = [...div.matchAll(TAG)].map(([, tag = '']) => tag);
  if (!tags.every((tag) => tag.startsWith('!--') || isAllowed(tag)))
    return NOT_ALLOWED;
  const hasContent =
    /<img\b/.test(div) || div.replaceAll(TAG, '').trim() !== '';
  return hasContent ? undefined : 'must have some content';
}

function isAllowed(tag: string): boolean {
  const name = /^\/?([\w:]+)\s*\/?$/.exec(tag.replaceAll(ATTRIBUTE, ''))?.[1];
  return (
    ELEMENTS.has(name ?? '') &&
    [...tag.matchAll(ATTRIBUTE)].every(
      ([, attribute = '', value = '']) =>
        ATTRIBUTES.has(attribute) &&
        (!ADDRESSES.has(attribute) || ADDRESS.test(value)),
    )
  );
}

const ADDRESSES: ReadonlySet<string> = new Set(['href', 'src']);

const NOT_ALLOWED =
  'has an element or attribute that a narrative may not have, such as a script';
