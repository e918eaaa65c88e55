/** What kept a message from being read, in a word. */
export type DirectErrorCode =
  /** It is no mail, or no S/MIME. */
  | 'malformed'
  /** It is encrypted for somebody else, or its content was changed. */
  | 'not-for-us'
  /** Its signature does not fit its content or its sender. */
  | 'signature'
  /** It is not signed, or not encrypted. */
  | 'unprotected'
  /** An algorithm that Direct does not have. */
  | 'algorithm'
  /** Its package of documents (XDM) is not taken; the text says why. */
  | 'package';

/** Its text holds nothing of the message. */
export class DirectError extends Error {
  readonly code: DirectErrorCode;

  constructor(code: DirectErrorCode, message: string) {
    super(message);
    this.name = 'DirectError';
    this.code = code;
  }
}
