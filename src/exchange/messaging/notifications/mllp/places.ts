import type { Socket } from 'node:net';
import { LRUCache } from 'lru-cache';

export interface ConnectionPlace {
  socket: Socket;
  address: string;
  /**
   * Whether this connection has sent a message of a known sender, or holds a
   * certificate that the listener requires.
   */
  isGenuine: boolean;
  /**
   * When it came, or when its last message was answered; the clock of
   * `process.hrtime`, so that no clock change matters.
   */
  heardAt: bigint;
}

/**
 * The places of connections. Where none is left, the connection that has been
 * silent for longest and has not shown itself as a known sender gives way:
 * first one from an address that never sent a genuine message. So silent
 * strangers never lock out a sender.
 */
export class Places {
  readonly #taken = new Map<string, ConnectionPlace>();
  /** Addresses from which a genuine message came. */
  readonly #known = new LRUCache<string, true>({ max: 1_000 });

  private readonly limits: {
    connections: number;
    connectionsOfAddress: number;
  };

  constructor(limits: {
    connections: number;
    connectionsOfAddress: number;
  }) {
    this.limits = limits;
  }

  get size(): number {
    return this.#taken.size;
  }

  /**
   * Takes a place until the socket closes. Returns undefined if every place is
   * taken by a genuine connection.
   */
  take(socket: Socket): ConnectionPlace | undefined {
    const { remoteAddress: address = '' } = socket;
    const all = [...this.#taken.values()];
    const neighbours = all.filter((place) => place.address === address);
    const isFull = all.length >= this.limits.connections;
    const isOwnShareFull =
      neighbours.length >= this.limits.connectionsOfAddress;
    if (isFull || isOwnShareFull) {
      const longest = this.#longestSilent(
        isOwnShareFull ? neighbours : all,
        address,
      );
      if (longest === undefined) return undefined;
      this.#taken.delete(socketKey(longest.socket));
      longest.socket.destroy();
    }
    const place = {
      socket,
      address,
      isGenuine: false,
      heardAt: process.hrtime.bigint(),
    };
    const key = socketKey(socket);
    this.#taken.set(key, place);
    socket.once('close', () => {
      if (this.#taken.get(key) === place) this.#taken.delete(key);
    });
    return place;
  }

  /** The place of a connection, also by its TLS socket. */
  of(socket: Socket): ConnectionPlace | undefined {
    return this.#taken.get(socketKey(socket));
  }

  /** Notes that the connection is one of a known sender. */
  noteGenuine(place: ConnectionPlace): void {
    place.isGenuine = true;
    this.#known.set(place.address, true);
  }

  isKnown(place: ConnectionPlace): boolean {
    return place.isGenuine || this.#known.has(place.address);
  }

  #longestSilent(
    places: readonly ConnectionPlace[],
    newcomer: string,
  ): ConnectionPlace | undefined {
    const silent = places.filter(({ isGenuine }) => !isGenuine);
    const strangers = silent.filter((place) => !this.isKnown(place));
    const candidates =
      strangers.length > 0 || !this.#known.has(newcomer) ? strangers : silent;
    return candidates.reduce<ConnectionPlace | undefined>(
      (longest, each) =>
        longest === undefined || each.heardAt < longest.heardAt
          ? each
          : longest,
      undefined,
    );
  }
}

/** A TLS socket and the socket below it have the same remote port. */
const socketKey = ({ remoteAddress, remotePort }: Socket): string =>
  `${remoteAddress} ${remotePort}`;
