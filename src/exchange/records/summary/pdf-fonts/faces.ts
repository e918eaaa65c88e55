import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { create, type Font } from 'fontkit';
import { unpackWoff } from './woff.ts';

/** Fonts that are embedded where the built-in ones lack a letter; a document contains only the glyphs it uses. */
export type Face = 'Wide' | 'WideBold' | 'Any';

const FILES: Readonly<Record<Face, () => string>> = {
  /** DejaVu Sans: Latin, Greek, Cyrillic, Armenian, Georgian, Hebrew and Arabic, joined as they are written. */
  Wide: () => import.meta.resolve('@fontsource/dejavu-sans/files/dejavu-sans-latin-400-normal.woff'),
  WideBold: () => import.meta.resolve('@fontsource/dejavu-sans/files/dejavu-sans-latin-700-normal.woff'),
  /** GNU Unifont: every character of the Basic Multilingual Plane, drawn on a grid, letter by letter. */
  Any: () => import.meta.resolve('@fontsource/unifontex/files/unifontex-latin-400-normal.woff'),
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
export function hasGlyphs(face: Face, text: string): boolean {
  const known = fonts.get(face) ?? (create(faceBytes(face)) as Font);
  fonts.set(face, known);
  return [...text].every((character) => known.hasGlyphForCodePoint(character.codePointAt(0) ?? 0));
}
