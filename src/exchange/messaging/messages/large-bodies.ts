import { Transform } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import { LRUCache } from 'lru-cache';
import { ExchangeError } from '../../platform/errors.ts';

/**
 * Bodies up to this size need no place. The signature can be verified only once
 * the whole body has been read.
 */
const FREE_BYTES = 1024 * 1024;
/** Behind a proxy, addresses are known only with TRUSTED_PROXIES. */
const KNOWN_ADDRESSES = { max: 1_000, ttl: 24 * 60 * 60_000 };
const PLACES = {
  /**
   * For addresses from which a genuine message came within the last day, so
   * that strangers cannot keep the partner out.
   */
  known: { all: 3, address: 3 },
  strangers: { all: 3, address: 2 },
};
/**
 * A slower sender gives way: at this pace, a body of more than 3 MB would not
 * be complete within the 30 s that it has.
 */
const PACE_MIN_BYTES_PER_SECOND = 100_000;
const JUDGED_AFTER_MS = 1_000;

type Group = keyof typeof PLACES;

interface Place {
  address: string;
  since: number;
  bytes: number;
  isComplete: boolean;
  giveUp(reason: ExchangeError): void;
}

const refusal = (message: string) =>
  new ExchangeError(503, message, { headers: { 'retry-after': '30' } });

/**
 * The places of large bodies that are being received or processed. One that
 * comes too slowly loses its place to another, so that a sender must send to
 * keep one.
 */
export class LargeBodies {
  readonly #open: Record<Group, Set<Place>> = {
    known: new Set(),
    strangers: new Set(),
  };
  private readonly now: () => number;

  constructor(now = Date.now) {
    this.now = now;
  }

  /**
   * Throws 503 with Retry-After if there is no place. `giveUp` is called when
   * the place goes to another body.
   */
  take(group: Group, address: string, giveUp: Place['giveUp']) {
    const open = this.#open[group];
    const max = PLACES[group];
    const ofAddress = [...open].filter((place) => place.address === address);
    if (ofAddress.length >= max.address) this.#free(group, ofAddress);
    else if (open.size >= max.all) this.#free(group, [...open]);
    const place = {
      address,
      since: this.now(),
      bytes: 0,
      isComplete: false,
      giveUp,
    };
    open.add(place);
    return {
      received(bytes: number) {
        place.bytes += bytes;
      },
      complete() {
        place.isComplete = true;
      },
      leave: () => void open.delete(place),
    };
  }

  #free(group: Group, candidates: readonly Place[]): void {
    const slow = candidates.find((place) => this.#isSlow(place));
    if (slow === undefined)
      throw refusal(
        'Too many large messages are being received at the moment; try again in a while',
      );
    this.#open[group].delete(slow);
    slow.giveUp(
      refusal(
        'This message came slowly while others waited; send it again in a while',
      ),
    );
  }

  #isSlow({ since, bytes, isComplete }: Place): boolean {
    const elapsedMs = this.now() - since;
    const isJudged = !isComplete && elapsedMs >= JUDGED_AFTER_MS;
    return isJudged && bytes < (elapsedMs / 1_000) * PACE_MIN_BYTES_PER_SECOND;
  }
}

/**
 * Limits how many large bodies are received at once, in total and from
 * strangers.
 */
export function boundLargeBodies(app: FastifyInstance): {
  noteGenuine(address: string): void;
} {
  const places = new LargeBodies();
  const known = new LRUCache<string, true>(KNOWN_ADDRESSES);
  app.addHook('preParsing', async (request, reply, payload) => {
    let place: ReturnType<LargeBodies['take']> | undefined;
    let receivedBytes = 0;
    const counted = new Transform({
      transform(chunk: Buffer, _encoding, done) {
        receivedBytes += chunk.length;
        try {
          if (receivedBytes > FREE_BYTES)
            place ??= places.take(
              known.has(request.ip) ? 'known' : 'strangers',
              request.ip,
              (reason) => counted.destroy(reason),
            );
          place?.received(chunk.length);
          done(null, chunk);
        } catch (error) {
          done(error as Error);
        }
      },
      flush(done) {
        place?.complete();
        done();
      },
    });
    reply.raw.once('close', () => place?.leave());
    payload.once('error', (error: Error) => counted.destroy(error));
    return payload.pipe(counted);
  });
  return { noteGenuine: (address) => void known.set(address, true) };
}
