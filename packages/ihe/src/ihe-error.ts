import type { SoapFaultKind } from './soap/soap-fault.ts';

/** What kind of failure an `IheError` is. */
export type IheErrorCode =
  /** The bytes are not well-formed XML. */
  | 'xml.not-well-formed'
  /** The XML has a DOCTYPE, which is refused whatever it says. */
  | 'xml.doctype'
  /** The XML is in a character set that cannot be read. */
  | 'xml.charset'
  /** A multipart message from which no part can be told. */
  | 'mime.malformed'
  /** More bytes, parts, elements or levels than allowed. */
  | 'too-large'
  /** The message ends before its end. */
  | 'cut'
  /** There is no message: not a byte of it. */
  | 'empty'
  /** A page for people instead of a message. */
  | 'html'
  /** The description of a service instead of a message. */
  | 'wsdl'
  /** XML, but no SOAP message. */
  | 'not-soap'
  /** Our certificate or key cannot be used. */
  | 'credentials'
  /** A request without WS-Security, or one that is not as it must be. */
  | 'security.missing'
  /** A signature is wrong, or is not over what is read. */
  | 'security.signature'
  /** An algorithm or transformation that is not taken. */
  | 'security.algorithm'
  /** The assertion is not for the key that the request came with. */
  | 'security.key'
  /** Too old, or from the future: most often a clock that is off. */
  | 'security.time'
  /** The message has been here before. */
  | 'security.replay'
  /** No connection: a wrong address, or nobody listens there. */
  | 'connect'
  /** A certificate was not accepted, theirs or ours. */
  | 'tls'
  /** No answer within the time. */
  | 'timeout'
  /** A status of HTTP that is a failure, without a SOAP fault. */
  | 'http'
  /** The answer is to another message. */
  | 'unrelated'
  /** A SOAP fault, by what it means (`SoapFaultKind`). */
  | `fault.${SoapFaultKind}`;

/**
 * A failure of this library, or one that it found in what a gateway sent. Its
 * message says what is wrong and never quotes what was received, because that
 * may name a patient.
 */
export class IheError extends Error {
  override readonly name = 'IheError';
  readonly code: IheErrorCode;
  /** The status of HTTP, if there was an answer. */
  readonly status: number | undefined;

  constructor(code: IheErrorCode, message: string, status?: number) {
    super(message);
    this.code = code;
    this.status = status;
  }
}
