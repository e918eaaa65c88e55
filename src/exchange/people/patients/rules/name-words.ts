const LETTERS: Record<string, string> = {
  ß: 'ss',
  æ: 'ae',
  œ: 'oe',
  ø: 'o',
  ł: 'l',
  đ: 'd',
  ð: 'd',
  þ: 'th',
  ı: 'i',
};

/** A text without case, accents and apostrophes. */
export const plainLetters = (text: string): string =>
  text
    .normalize('NFD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[ßæœøłđðþı]/g, (letter) => LETTERS[letter] ?? letter)
    .replace(/['’`´ʼ.]/g, '');

/** Splits a name into comparable words without case, accents and apostrophes: "O’Brien-Núñez" becomes obrien, nunez. */
export const words = (text: string | undefined): string[] =>
  plainLetters(text ?? '')
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== '');
