/** The characters of Windows-1252 beyond Latin-1, which a PDF's built-in fonts can show. */
const FURTHER = new Set('€‚ƒ„…†‡ˆ‰Š‹ŒŽ‘’“”•–—˜™š›œžŸ');

const WRITTEN_AS: Readonly<Record<string, string>> = {
  '−': '-',
  '‐': '-',
  '‑': '-',
  '‒': '-',
  '―': '—',
  μ: 'µ',
};

const isBuiltInCharacter = (character: string): boolean => {
  const code = character.codePointAt(0) ?? 0;
  return (code >= 0x20 && code < 0x7f) || (code >= 0xa0 && code <= 0xff) || FURTHER.has(character);
};

/** Whether the built-in fonts have all characters of a text. Nearly all texts are ASCII. */
export const isBuiltIn = (text: string): boolean =>
  /^[ -~]*$/.test(text) || [...text].every(isBuiltInCharacter);

/**
 * A text as the fonts of a PDF can show it: without control characters, and characters beyond the Basic Multilingual Plane
 * replaced by an equivalent, otherwise by a question mark (`isWhole` is then false).
 */
export function showable(text: string): { text: string; isWhole: boolean } {
  if (/^[ -~]*$/.test(text)) return { text, isWhole: true };
  let isWhole = true;
  const plain = [...text.normalize('NFC')].map((character) => {
    if (UNSEEN.test(character) && !/\s/u.test(character)) return '';
    if (character.length === 1) return character;
    const equivalent = character.normalize('NFKD');
    if ([...equivalent].every(({ length }) => length === 1)) return equivalent;
    isWhole = false;
    return '?';
  });
  // Only now: without a character that is not seen, or with an equivalent, two blanks or two parts of a letter may be neighbours.
  const shown = [...plain.join('').normalize('NFC').replaceAll(/\s+/gu, ' ')];
  return { text: shown.map((character) => WRITTEN_AS[character] ?? character).join(''), isWhole };
}

const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Variation_Selector}]/u;

/** Breaks text into lines; word widths are cached. */
export class LineBreaker {
  readonly #widths = new Map<string, number>();

  constructor(readonly measure: (text: string) => number) {}

  lines(text: string, width: number): string[] {
    if (this.#width(text) <= width) return [text];
    const lines: string[] = [];
    let line = '';
    let used = 0;
    const space = this.#width(' ');
    for (const word of text.split(' ').flatMap((each) => this.#pieces(each, width))) {
      const wide = this.#width(word);
      if (line !== '' && used + space + wide > width) {
        lines.push(line);
        line = word;
        used = wide;
      } else {
        line = line === '' ? word : `${line} ${word}`;
        used += wide + (used === 0 ? 0 : space);
      }
    }
    return [...lines, line];
  }

  /** Cuts a word that is wider than a line. */
  #pieces(word: string, width: number): string[] {
    const pieces: string[] = [];
    let rest = word;
    while (rest.length > 1 && this.#width(rest) > width) {
      let length = Math.max(1, Math.floor((rest.length * width) / this.#width(rest)));
      while (length > 1 && this.#width(rest.slice(0, length)) > width) length -= 1;
      pieces.push(rest.slice(0, length));
      rest = rest.slice(length);
    }
    return [...pieces, rest];
  }

  #width(text: string): number {
    const known = this.#widths.get(text);
    if (known !== undefined) return known;
    if (this.#widths.size >= KEPT_WIDTHS) this.#widths.clear();
    const width = this.measure(text);
    if (text.length <= LONGEST_KEPT) this.#widths.set(text, width);
    return width;
  }
}

const KEPT_WIDTHS = 20_000;
const LONGEST_KEPT = 60;
