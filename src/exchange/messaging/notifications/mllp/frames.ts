/**
 * MLLP (HL7 v2 Transport Specification: MLLP, Release 1): start block, message,
 * end block.
 */
const START = 0x0b;
const END = 0x1c;
const CARRIAGE_RETURN = 0x0d;

/** Senders put a byte or a line between frames; more is no MLLP. */
const BETWEEN_MAX = 1_024;

/**
 * The sender does not speak MLLP, or its message is too long. The connection
 * cannot be used further.
 */
export class FrameError extends Error {
  override readonly name = 'FrameError';
}

/**
 * Puts messages together from the chunks of a connection, which may split and
 * join frames anywhere.
 */
export class MllpFrames {
  #isInside = false;
  /**
   * Grows by doubling, so that many small chunks cost no more than one large
   * one.
   */
  #frame = Buffer.alloc(0);
  #length = 0;
  #between = 0;
  private readonly bytesMax: number;

  constructor(bytesMax: number) {
    this.bytesMax = bytesMax;
  }

  /** Whether a message has begun and not ended. */
  get isInside(): boolean {
    return this.#isInside;
  }

  /** Yields the messages that this chunk completes. Throws FrameError. */
  *read(chunk: Buffer): Generator<Buffer> {
    let at = 0;
    while (at < chunk.length) {
      if (!this.#isInside) {
        at = this.#startIn(chunk, at);
        continue;
      }
      const end = this.#endIn(chunk, at);
      this.#add(chunk.subarray(at, end ?? chunk.length));
      if (end === undefined) return;
      at = end;
      const message = Buffer.from(this.#frame.subarray(0, this.#length - 2));
      this.#isInside = false;
      this.#frame = Buffer.alloc(0);
      this.#length = 0;
      yield message;
    }
  }

  /** The place after the next start block, or the end of the chunk. */
  #startIn(chunk: Buffer, from: number): number {
    const start = chunk.indexOf(START, from);
    const end = start < 0 ? chunk.length : start;
    this.#between += end - from;
    if (this.#between > BETWEEN_MAX)
      throw new FrameError('data outside of a frame');
    if (start < 0) return end;
    this.#between = 0;
    this.#isInside = true;
    return start + 1;
  }

  /**
   * The place after the end block in this chunk. The two bytes of the end block
   * may be in two chunks.
   */
  #endIn(chunk: Buffer, from: number): number | undefined {
    const isHalf = this.#length > 0 && this.#frame[this.#length - 1] === END;
    if (isHalf && chunk[from] === CARRIAGE_RETURN) return from + 1;
    for (
      let at = chunk.indexOf(END, from);
      at >= 0;
      at = chunk.indexOf(END, at + 1)
    )
      if (chunk[at + 1] === CARRIAGE_RETURN) return at + 2;
    return undefined;
  }

  #add(bytes: Buffer): void {
    const length = this.#length + bytes.length;
    if (length > this.bytesMax + 2)
      throw new FrameError(`a message of more than ${this.bytesMax} bytes`);
    if (length > this.#frame.length) {
      const larger = Buffer.alloc(Math.max(length, 2 * this.#frame.length));
      this.#frame.copy(larger, 0, 0, this.#length);
      this.#frame = larger;
    }
    bytes.copy(this.#frame, this.#length);
    this.#length = length;
  }
}

/** A message as it is sent. */
export const framed = (message: string): Buffer =>
  Buffer.concat([
    Buffer.of(START),
    Buffer.from(message),
    Buffer.of(END, CARRIAGE_RETURN),
  ]);
