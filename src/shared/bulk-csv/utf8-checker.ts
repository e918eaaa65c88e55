export interface Utf8Checker {
  /** Inside a character: the next byte must be told too, whatever it is. */
  readonly isOpen: boolean;
  /** False when `byte` cannot stand here (RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF). */
  step(byte: number): boolean;
}

/** Checks UTF-8 byte by byte; bytes below 0x80 outside of a character need not be told. */
export function createUtf8Checker(): Utf8Checker {
  let missing = 0;
  // The first continuation byte is bound more closely after some lead bytes.
  let lowest = 0x80;
  let highest = 0xbf;
  return {
    get isOpen() {
      return missing > 0;
    },
    step(byte) {
      if (missing > 0) {
        if (byte < lowest || byte > highest) return false;
        missing -= 1;
        lowest = 0x80;
        highest = 0xbf;
        return true;
      }
      if (byte < 0x80) return true;
      if (byte < 0xc2 || byte > 0xf4) return false;
      missing = byte < 0xe0 ? 1 : byte < 0xf0 ? 2 : 3;
      if (byte === 0xe0) lowest = 0xa0;
      else if (byte === 0xed) highest = 0x9f;
      else if (byte === 0xf0) lowest = 0x90;
      else if (byte === 0xf4) highest = 0x8f;
      return true;
    },
  };
}
