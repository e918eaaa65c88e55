import { IheError } from '../ihe-error.ts';

/** Undoes the Content-Transfer-Encoding of a part, chunk by chunk. */
export interface TransferDecoder {
  decode(chunk: Buffer): Buffer;
  /** What was held back until the end. */
  finish(): Buffer;
}

/**
 * @param encoding as the part's header names it; undefined is binary
 * @throws {IheError} `mime.malformed` for an encoding that MIME does not have
 */
export function transferDecoder(encoding: string | undefined): TransferDecoder {
  switch (encoding?.trim().toLowerCase() || 'binary') {
    case 'binary':
    case '8bit':
    case '7bit':
      return { decode: (chunk) => chunk, finish: () => NOTHING };
    case 'base64':
      return base64Decoder();
    case 'quoted-printable':
      return quotedPrintableDecoder();
    default:
      throw new IheError(
        'mime.malformed',
        'A part of the multipart message has an unknown transfer encoding.',
      );
  }
}

const NOTHING = Buffer.alloc(0);

function base64Decoder(): TransferDecoder {
  let held = '';
  return {
    decode(chunk) {
      const letters = held + chunk.toString('latin1').replaceAll(/\s+/g, '');
      const whole = letters.length - (letters.length % 4);
      held = letters.slice(whole);
      return Buffer.from(letters.slice(0, whole), 'base64');
    },
    finish: () => Buffer.from(held, 'base64'),
  };
}

function quotedPrintableDecoder(): TransferDecoder {
  let held = '';
  const decoded = (text: string) =>
    Buffer.from(
      text
        .replaceAll(/=[ \t]*\r?\n/g, '')
        .replaceAll(/=([\dA-Fa-f]{2})/g, (_, digits: string) =>
          String.fromCharCode(Number.parseInt(digits, 16)),
        ),
      'latin1',
    );
  return {
    decode(chunk) {
      const text = held + chunk.toString('latin1');
      // An escape, or a line end that is none, may go on in the next chunk.
      const open = /=[ \t\r]*[\dA-Fa-f]?$/.exec(text)?.index ?? text.length;
      held = text.slice(open);
      return decoded(text.slice(0, open));
    },
    finish: () => decoded(held.replace(/=\s*$/, '')),
  };
}
