interface Permit {
  leave(): void;
}

/**
 * The bytes of a request. What is larger than `freeBytes` needs a permit, which
 * is taken when it shows and kept until `leave`.
 */
export class PermittedBytes implements AsyncIterable<Uint8Array> {
  readonly #bytes: AsyncIterable<Uint8Array>;
  readonly #freeBytes: number;
  readonly #take: () => Permit;
  #permit: Permit | undefined;

  /** @param take throws when no permit is free */
  constructor(
    bytes: AsyncIterable<Uint8Array>,
    freeBytes: number,
    take: () => Permit,
  ) {
    this.#bytes = bytes;
    this.#freeBytes = freeBytes;
    this.#take = take;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    let length = 0;
    for await (const chunk of this.#bytes) {
      length += chunk.byteLength;
      if (length > this.#freeBytes) this.#permit ??= this.#take();
      yield chunk;
    }
  }

  leave(): void {
    this.#permit?.leave();
  }
}
