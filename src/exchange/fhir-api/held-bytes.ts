import type { ServedResource } from './served-resources.ts';

/** What one answer holds at once, as JSON: an answer without pages is refused beyond it, a page comes short. */
export const HELD_BYTES_MAX = 20_000_000;

/** Counts what an answer holds. */
export class HeldBytes {
  #bytes = 0;

  /** Whether the answer may hold more after these. */
  take(resources: readonly ServedResource[]): boolean {
    for (const { json } of resources) this.#bytes += JSON.stringify(json).length;
    return this.#bytes <= HELD_BYTES_MAX;
  }
}
