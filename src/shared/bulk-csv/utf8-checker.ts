export interface Utf8Checker {
  /** True inside a multi-byte character: the next byte must be passed to `step`, whatever it is. */
  readonly isOpen: boolean;
  /** Returns false when `byte` is invalid here (RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF). */
  step(byte: number): boolean;
}

/** Validates UTF-8 byte by byte. Bytes below 0x80 need not be passed while `isOpen` is false. */
export function createUtf8Checker(): Utf8Checker {
  let missing = 0;
  // After some lead bytes, the first continuation byte has a narrower range.
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
