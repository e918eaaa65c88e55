import bidiFactory from 'bidi-js';
import { isBuiltIn } from '../pdf-text.ts';
import { hasGlyphs } from './faces.ts';

/** A part of a line that one font draws. */
export interface Run {
  text: string;
  face: 'BuiltIn' | 'Wide' | 'Any';
}

// The package is CommonJS, but its types describe an ES module.
const bidi = (bidiFactory as unknown as typeof bidiFactory.default)();
const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff]/;
const RIGHT_TO_LEFT_LETTER =
  /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}]/u;

/** Splits a line (of `showable` text) into runs from left to right as they are to be drawn; words of right-to-left scripts change places. */
export function runsOf(text: string): Run[] {
  if (isBuiltIn(text)) return [{ text, face: 'BuiltIn' }];
  if (!RIGHT_TO_LEFT.test(text)) return wordsOf(text).map((word) => ({ text: word, face: faceOf(word) }));
  const levels = bidi.getEmbeddingLevels(text, 'ltr');
  const pieces: { text: string; isRightToLeft: boolean }[] = [];
  const pieceAt: number[] = [];
  for (const word of wordsOf(text)) {
    let before: number | undefined;
    for (const character of word) {
      const level = levels.levels[pieceAt.length] ?? 0;
      const last = level === before ? pieces.at(-1) : undefined;
      if (last === undefined) pieces.push({ text: character, isRightToLeft: level % 2 === 1 });
      else last.text += character;
      before = level;
      pieceAt.push(pieces.length - 1);
    }
  }
  const order = new Set(bidi.getReorderedIndices(text, levels).map((index) => pieceAt[index] ?? 0));
  return [...order].flatMap((index) => {
    const piece = pieces[index];
    if (piece === undefined) return [];
    const drawn = piece.isRightToLeft ? mirrored(piece.text) : piece.text;
    return [{ text: drawn, face: faceOf(drawn) }];
  });
}

/** Scripts whose letters stand alone, so that the font of all characters shows them as they are written. */
const LETTER_BY_LETTER =
  /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Bopomofo}\p{Script=Ethiopic}\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}\p{Script=Armenian}\p{Script=Georgian}\p{Script=Hebrew}\p{Script=Cherokee}\p{Script=Canadian_Aboriginal}\p{Script=Yi}\p{Script=Common}\p{Script=Inherited}]*$/u;

/** Whether a text is drawn as its script is written; false for scripts that only the font of all characters has. */
export const areLettersRight = (text: string): boolean =>
  LETTER_BY_LETTER.test(text) ||
  wordsOf(text).every((word) => LETTER_BY_LETTER.test(word) || faceOf(word) !== 'Any');

/** Words and the spaces between them. */
const wordsOf = (text: string): string[] => text.match(/ +|[^ ]+/g) ?? [];

function faceOf(word: string): Run['face'] {
  if (isBuiltIn(word)) return 'BuiltIn';
  return hasGlyphs('Wide', word) ? 'Wide' : 'Any';
}

/** fontkit draws letters of right-to-left scripts in their order, but turns no brackets, and no run without letters. */
function mirrored(text: string): string {
  const characters = [...text].map((character) => bidi.getMirroredCharacter(character) ?? character);
  return (RIGHT_TO_LEFT_LETTER.test(text) ? characters : characters.toReversed()).join('');
}
