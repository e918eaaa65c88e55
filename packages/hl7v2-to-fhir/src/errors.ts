/**
 * A message that is refused. The error message is returned to the sender and
 * never logged. It names places and rules, never a value.
 */
export class UnreadableMessageError extends Error {
  override readonly name = 'UnreadableMessageError';

  /**
   * unsupported: this kind of message is not supported. invalid: a required
   * part is missing or wrong. failed: the message may be right, and we could
   * not store it.
   */
  readonly kind: 'unsupported' | 'invalid' | 'failed';
  /** `PV1-19`, `Bundle.entry[1].resource.period.start` */
  readonly place?: string;

  constructor(
    kind: 'unsupported' | 'invalid' | 'failed',
    message: string,
    place?: string,
  ) {
    super(message);
    this.kind = kind;
    this.place = place;
  }
}

/** A required part of the message is missing or wrong. */
export const invalid = (
  message: string,
  place?: string,
): UnreadableMessageError =>
  new UnreadableMessageError('invalid', message, place);
