/** What kind of failure an `IheError` is. */
export type IheErrorCode =
  /** The bytes are not well-formed XML. */
  | 'xml.not-well-formed'
  /** The XML has a DOCTYPE, which is refused whatever it says. */
  | 'xml.doctype'
  /** The XML is in a character set that cannot be read. */
  | 'xml.charset'
  /** The XML has more bytes, elements or levels than allowed. */
  | 'xml.too-large';

/**
 * A failure of this library, or one that it found in what a gateway sent. Its
 * message says what is wrong and never quotes what was received, because that
 * may name a patient.
 */
export class IheError extends Error {
  override readonly name = 'IheError';
  readonly code: IheErrorCode;

  constructor(code: IheErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}
