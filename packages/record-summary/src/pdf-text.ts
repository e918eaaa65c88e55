import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { inflateSync } from 'node:zlib';
import bidiFactory from 'bidi-js';
import { create, type Font } from 'fontkit';

/**
 * The characters of Windows-1252 beyond Latin-1, which a PDF's built-in fonts
 * can show.
 */
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
  return (
    (code >= 0x20 && code < 0x7f) ||
    (code >= 0xa0 && code <= 0xff) ||
    FURTHER.has(character)
  );
};

/**
 * Whether the built-in fonts have all characters of a text. Nearly all texts
 * are ASCII.
 */
const isBuiltIn = (text: string): boolean =>
  /^[ -~]*$/.test(text) || [...text].every(isBuiltInCharacter);

/**
 * A text as the fonts of a PDF can show it: without control characters, and
 * characters beyond the Basic Multilingual Plane replaced by an equivalent,
 * otherwise by a question mark (`isWhole` is then false).
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
  // Only now: without a character that is not seen, or with an equivalent, two
  // blanks or two parts of a letter may be neighbours.
  const shown = [...plain.join('').normalize('NFC').replaceAll(/\s+/gu, ' ')];
  return {
    text: shown.map((character) => WRITTEN_AS[character] ?? character).join(''),
    isWhole,
  };
}

const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Variation_Selector}]/u;

/** Breaks text into lines. */
export class LineBreaker {
  readonly measure: (text: string) => number;

  constructor(measure: (text: string) => number) {
    this.measure = measure;
  }

  lines(text: string, width: number): string[] {
    if (this.measure(text) <= width) return [text];
    const lines: string[] = [];
    let line = '';
    let used = 0;
    const space = this.measure(' ');
    for (const word of text
      .split(' ')
      .flatMap((each) => this.#pieces(each, width))) {
      const wide = this.measure(word);
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
    while (rest.length > 1 && this.measure(rest) > width) {
      let length = Math.max(
        1,
        Math.floor((rest.length * width) / this.measure(rest)),
      );
      while (length > 1 && this.measure(rest.slice(0, length)) > width)
        length -= 1;
      pieces.push(rest.slice(0, length));
      rest = rest.slice(length);
    }
    return [...pieces, rest];
  }
}

/**
 * Fonts that are embedded where the built-in ones lack a letter; a document
 * contains only the glyphs it uses.
 */
export type Face = 'Wide' | 'WideBold' | 'Any';

const FILES: Readonly<Record<Face, () => string>> = {
  /**
   * DejaVu Sans: Latin, Greek, Cyrillic, Armenian, Georgian, Hebrew and Arabic,
   * joined as they are written.
   */
  Wide: () =>
    import.meta.resolve(
      '@fontsource/dejavu-sans/files/dejavu-sans-latin-400-normal.woff',
    ),
  WideBold: () =>
    import.meta.resolve(
      '@fontsource/dejavu-sans/files/dejavu-sans-latin-700-normal.woff',
    ),
  /**
   * GNU Unifont: every character of the Basic Multilingual Plane, drawn on a
   * grid, letter by letter.
   */
  Any: () =>
    import.meta.resolve(
      '@fontsource/unifontex/files/unifontex-latin-400-normal.woff',
    ),
};

const bytes = new Map<Face, Buffer>();
const fonts = new Map<Face, Font>();

/** The font's bytes, read once per process when a document first needs them. */
export function faceBytes(face: Face): Buffer {
  const known = bytes.get(face);
  if (known !== undefined) return known;
  const read = unpackWoff(readFileSync(fileURLToPath(FILES[face]())));
  bytes.set(face, read);
  return read;
}

/** Whether the font has a glyph for each character of a text. */
function hasGlyphs(face: Face, text: string): boolean {
  const known = fonts.get(face) ?? (create(faceBytes(face)) as Font);
  fonts.set(face, known);
  return [...text].every((character) =>
    known.hasGlyphForCodePoint(character.codePointAt(0) ?? 0),
  );
}

/** A part of a line that one font draws. */
export interface FontRun {
  text: string;
  face: 'BuiltIn' | 'Wide' | 'Any';
}

// The package is CommonJS, but its types describe an ES module.
const bidi = (bidiFactory as unknown as typeof bidiFactory.default)();
const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff]/;
const RIGHT_TO_LEFT_LETTER =
  /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}]/u;

/**
 * Splits a line (of `showable` text) into runs from left to right as they are
 * to be drawn; words of right-to-left scripts change places.
 */
export function runsOf(text: string): FontRun[] {
  if (isBuiltIn(text)) return [{ text, face: 'BuiltIn' }];
  if (!RIGHT_TO_LEFT.test(text))
    return wordsOf(text).map((word) => ({ text: word, face: faceOf(word) }));
  const levels = bidi.getEmbeddingLevels(text, 'ltr');
  const pieces: { text: string; isRightToLeft: boolean }[] = [];
  const pieceAt: number[] = [];
  for (const word of wordsOf(text)) {
    let before: number | undefined;
    for (const character of word) {
      const level = levels.levels[pieceAt.length] ?? 0;
      const last = level === before ? pieces.at(-1) : undefined;
      if (last === undefined)
        pieces.push({ text: character, isRightToLeft: level % 2 === 1 });
      else last.text += character;
      before = level;
      pieceAt.push(pieces.length - 1);
    }
  }
  const order = new Set(
    bidi.getReorderedIndices(text, levels).map((index) => pieceAt[index] ?? 0),
  );
  return [...order].flatMap((index) => {
    const piece = pieces[index];
    if (piece === undefined) return [];
    const drawn = piece.isRightToLeft ? mirrored(piece.text) : piece.text;
    return [{ text: drawn, face: faceOf(drawn) }];
  });
}

/**
 * Scripts whose letters stand alone, so that the font of all characters shows
 * them as they are written.
 */
const LETTER_BY_LETTER =
  /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Bopomofo}\p{Script=Ethiopic}\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}\p{Script=Armenian}\p{Script=Georgian}\p{Script=Hebrew}\p{Script=Cherokee}\p{Script=Canadian_Aboriginal}\p{Script=Yi}\p{Script=Common}\p{Script=Inherited}]*$/u;

/**
 * Whether a text is drawn as its script is written; false for scripts that only
 * the font of all characters has.
 */
export const areLettersRight = (text: string): boolean =>
  LETTER_BY_LETTER.test(text) ||
  wordsOf(text).every(
    (word) => LETTER_BY_LETTER.test(word) || faceOf(word) !== 'Any',
  );

/** Words and the spaces between them. */
const wordsOf = (text: string): string[] => text.match(/ +|[^ ]+/g) ?? [];

function faceOf(word: string): FontRun['face'] {
  if (isBuiltIn(word)) return 'BuiltIn';
  return hasGlyphs('Wide', word) ? 'Wide' : 'Any';
}

/**
 * fontkit draws letters of right-to-left scripts in their order, but turns no
 * brackets, and no run without letters.
 */
function mirrored(text: string): string {
  const characters = [...text].map(
    (character) => bidi.getMirroredCharacter(character) ?? character,
  );
  return (
    RIGHT_TO_LEFT_LETTER.test(text) ? characters : characters.toReversed()
  ).join('');
}

const HEADER = { woff: 44, sfnt: 12 } as const;
const ENTRY = { woff: 20, sfnt: 16 } as const;

/**
 * Unpacks a WOFF 1.0 font into the OpenType font that it contains
 * (https://www.w3.org/TR/WOFF/). fontkit reads WOFF too, but unpacks a whole
 * table for each glyph: a line of Chinese takes seconds.
 */
function unpackWoff(woff: Buffer): Buffer {
  const count = woff.readUInt16BE(12);
  const tables = Array.from({ length: count }, (_, index) => {
    const at = HEADER.woff + index * ENTRY.woff;
    const offset = woff.readUInt32BE(at + 4);
    const packed = woff.readUInt32BE(at + 8);
    const length = woff.readUInt32BE(at + 12);
    const part = woff.subarray(offset, offset + packed);
    return {
      tag: woff.subarray(at, at + 4),
      checksum: woff.subarray(at + 16, at + 20),
      bytes: packed < length ? inflateSync(part) : part,
    };
  });
  const head = Buffer.alloc(HEADER.sfnt + ENTRY.sfnt * count);
  woff.copy(head, 0, 4, 8);
  const power = 2 ** Math.floor(Math.log2(count));
  for (const [index, value] of [
    count,
    power * 16,
    Math.log2(power),
    (count - power) * 16,
  ].entries())
    head.writeUInt16BE(value, 4 + 2 * index);
  const parts: Buffer[] = [head];
  let offset = head.length;
  for (const [index, { tag, checksum, bytes }] of tables.entries()) {
    const at = HEADER.sfnt + ENTRY.sfnt * index;
    tag.copy(head, at);
    checksum.copy(head, at + 4);
    head.writeUInt32BE(offset, at + 8);
    head.writeUInt32BE(bytes.length, at + 12);
    const padding = Buffer.alloc((4 - (bytes.length % 4)) % 4);
    parts.push(bytes, padding);
    offset += bytes.length + padding.length;
  }
  return Buffer.concat(parts);
}
