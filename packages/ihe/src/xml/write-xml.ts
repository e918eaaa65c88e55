/** XML that is already written, and is not escaped again. */
export class XmlFragment {
  readonly source: string;

  constructor(source: string) {
    this.source = source;
  }

  toString(): string {
    return this.source;
  }
}

/** What a template of `xml` takes; undefined is left out. */
export type XmlValue =
  | string
  | number
  | XmlFragment
  | undefined
  | readonly XmlValue[];

/**
 * Writes XML: values are escaped, in texts and in attributes in quotation marks
 * alike; fragments are taken as they are. Line breaks and indentation of the
 * template are left out.
 *
 *     xml`<name><given>${given}</given></name>`
 */
export function xml(
  template: TemplateStringsArray,
  ...values: readonly XmlValue[]
): XmlFragment {
  const fixed = withoutIndentation(template);
  let source = fixed[0] ?? '';
  for (const [at, value] of values.entries())
    source += written(value) + (fixed[at + 1] ?? '');
  return new XmlFragment(source);
}

function written(value: XmlValue): string {
  if (value === undefined) return '';
  if (value instanceof XmlFragment) return value.source;
  if (typeof value === 'string') return escapeXml(value);
  if (typeof value === 'number') return String(value);
  return value.map(written).join('');
}

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
  '\t': '&#9;',
  '\n': '&#10;',
  '\r': '&#13;',
};

/**
 * Escapes a text for an element or for an attribute in quotation marks, so that
 * a reader gets exactly it. Characters that XML 1.0 cannot say (most control
 * characters, half a pair of surrogates) are left out.
 */
export const escapeXml = (text: string): string =>
  withoutRefused(text).replaceAll(
    /[&<>"'\t\n\r]/g,
    (character) => ESCAPES[character] ?? '',
  );

/** Leaves out the characters that XML 1.0 cannot say. */
export const withoutRefused = (text: string): string =>
  text.replaceAll(NOT_XML, '');

const NOT_XML =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: They are what is looked for.
  /[\u0000-\u0008\u000B\u000C\u000E-\u001F\uFFFE\uFFFF]|[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/g;

/** By the template, which is one per place. */
const KNOWN = new WeakMap<TemplateStringsArray, readonly string[]>();

/** The fixed parts of a template, without its line breaks and indentation. */
export function withoutIndentation(
  template: TemplateStringsArray,
): readonly string[] {
  const known = KNOWN.get(template);
  if (known !== undefined) return known;
  const parts = template.map((part) =>
    part.replaceAll(/\s*\n\s*/g, (space, at: number) => {
      const before = part[at - 1];
      const after = part[at + space.length];
      const isInTag =
        (before !== undefined && before !== '>') ||
        (after !== undefined && after !== '<');
      const isBetweenElements = before === '>' || after === '<';
      return isInTag && !isBetweenElements ? ' ' : '';
    }),
  );
  KNOWN.set(template, parts);
  return parts;
}
