import type { FetchImplementation } from 'jose';
import { LRUCache } from 'lru-cache';
import { fetch } from 'undici';
import {
  checkDestination,
  type DestinationRules,
  guardedDispatchers,
} from '../../platform/outbox/destination-guard.ts';

/**
 * Size of a key set after decompression. A hundred RSA keys need half of it.
 */
const BYTES_MAX = 64 * 1024;
/**
 * Anyone who knows the id of a client can have its keys fetched, so an address
 * that failed rests.
 */
const REST_MS = 5_000;

/** A client's key set cannot be fetched. */
export class KeysError extends Error {
  override readonly name = 'KeysError';
}

/**
 * Fetches key sets from the addresses that clients have registered, by the
 * rules of webhooks: from no private address, without following redirects, and
 * no more than 64 kB. @throws KeysError, BlockedDestinationError
 */
export function createKeyFetch(rules: DestinationRules): FetchImplementation {
  const dispatcherFor = guardedDispatchers(rules, {});
  const resting = new LRUCache<string, true>({ max: 1_000, ttl: REST_MS });
  return async (address, { headers, signal }) => {
    if (resting.has(address))
      throw new KeysError('the keys could not be fetched a moment ago');
    try {
      checkDestination(address, rules);
      const response = await fetch(address, {
        headers: Object.fromEntries(headers),
        signal,
        // The registered address is what the operator checked; it must not lead
        // elsewhere.
        redirect: 'error',
        dispatcher: dispatcherFor(address),
      });
      return new Response(await boundedText(response.body ?? []), {
        status: response.status,
      });
    } catch (error) {
      resting.set(address, true);
      throw error;
    }
  };
}

/** Stops reading at the limit: a few compressed bytes can become very many. */
async function boundedText(
  body: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): Promise<string> {
  const chunks: Uint8Array[] = [];
  let sizeBytes = 0;
  for await (const chunk of body) {
    sizeBytes += chunk.length;
    if (sizeBytes > BYTES_MAX)
      throw new KeysError(`the keys have more than ${BYTES_MAX} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
