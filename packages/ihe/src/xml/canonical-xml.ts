import {
  withoutIndentation,
  withoutRefused,
  XmlFragment,
  type XmlValue,
} from './write-xml.ts';

/**
 * Writes XML as `xml` does, with values escaped as Exclusive Canonical XML 1.0
 * has them, so that it can be signed without being read again. What is fixed has
 * to be in that form already: namespaces declared where they are first used,
 * before the attributes, both in their order (attributes without a prefix
 * first), in quotation marks, and no empty-element tags.
 *
 * @see https://www.w3.org/TR/xml-c14n11/#ProcessingModel
 */
export function canonicalXml(
  template: TemplateStringsArray,
  ...values: readonly XmlValue[]
): XmlFragment {
  const fixed = withoutIndentation(template);
  let source = fixed[0] ?? '';
  for (const [at, value] of values.entries()) {
    const escapes = fixed[at]?.endsWith('="') ? IN_ATTRIBUTES : IN_TEXTS;
    source += written(value, escapes) + (fixed[at + 1] ?? '');
  }
  return new XmlFragment(source);
}

interface Escapes {
  escaped: RegExp;
  as: Readonly<Record<string, string>>;
}

const IN_ATTRIBUTES: Escapes = {
  escaped: /[&<"\t\n\r]/g,
  as: {
    '&': '&amp;',
    '<': '&lt;',
    '"': '&quot;',
    '\t': '&#x9;',
    '\n': '&#xA;',
    '\r': '&#xD;',
  },
};
const IN_TEXTS: Escapes = {
  escaped: /[&<>\r]/g,
  as: { '&': '&amp;', '<': '&lt;', '>': '&gt;', '\r': '&#xD;' },
};

function written(value: XmlValue, { escaped, as }: Escapes): string {
  if (value === undefined) return '';
  if (value instanceof XmlFragment) return value.source;
  if (typeof value === 'string')
    return withoutRefused(value).replaceAll(escaped, (each) => as[each] ?? '');
  if (typeof value === 'number') return String(value);
  return value.map((each) => written(each, { escaped, as })).join('');
}
