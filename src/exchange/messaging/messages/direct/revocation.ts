import type { X509Certificate } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { type Dispatcher, request } from 'undici';
import {
  DirectError,
  type RevocationList,
  readRevocationList,
  revocationAddressesOf,
} from '#direct';
import type { Store } from '../../../platform/database/database.ts';
import {
  BlockedDestinationError,
  checkDestination,
  type DestinationRules,
  guardedDispatchers,
} from '../../../platform/outbox/destination-guard.ts';
import {
  endRevocationFault,
  noteRevocationFault,
} from './revocation-fault-store.ts';

/** Some 170,000 entries. */
const BYTES_MAX = 5_000_000;
const LISTS_MAX = 100;
const ADDRESSES_MAX = 3;
const FETCHED_WITHIN_MS = 10_000;
/** A list is read again after an hour; one that failed rests. */
const FRESH_MS = 60 * 60_000;
const REST_MS = 5 * 60_000;

interface FetchedList extends RevocationList {
  issuer: string;
  fetchedAt: number;
}

/**
 * Asks whether certificates are revoked, by the lists that they name. Lists are
 * kept in memory until they end, and read again after an hour.
 */
export function createRevocation({
  store,
  destinations,
}: {
  store: Pick<Store, 'asSystem'>;
  destinations: DestinationRules;
}) {
  const rules = { ...destinations, allowHttp: true };
  const dispatcherFor = guardedDispatchers(rules, {
    headersTimeout: FETCHED_WITHIN_MS,
    bodyTimeout: FETCHED_WITHIN_MS,
  });
  const lists = new LRUCache<string, FetchedList>({ max: LISTS_MAX });
  const resting = new LRUCache<string, true>({ max: 1_000, ttl: REST_MS });

  /** A list that was fetched before, and still speaks for the issuer. */
  function keptList(
    address: string,
    { fingerprint256 }: X509Certificate,
  ): FetchedList | undefined {
    const kept = lists.get(address);

    return kept?.issuer === fingerprint256 && !hasEnded(kept)
      ? kept
      : undefined;
  }

  /** Undefined when it cannot be had. */
  async function listAt(
    address: string,
    issuer: X509Certificate,
  ): Promise<RevocationList | undefined> {
    const kept = keptList(address, issuer);
    const isFresh = Date.now() - (kept?.fetchedAt ?? 0) < FRESH_MS;
    if (isFresh || resting.has(address)) return kept;

    try {
      return await fetchedList(address, issuer);
    } catch (error) {
      const fault = faultOf(error);
      resting.set(address, true);
      if (kept === undefined)
        await store.asSystem((tx) => noteRevocationFault(tx, address, fault));
      return kept;
    }
  }

  async function fetchedList(
    address: string,
    issuer: X509Certificate,
  ): Promise<RevocationList> {
    const bytes = await fetchList(address, rules, dispatcherFor(address));
    const list = readRevocationList(bytes, issuer);
    if (hasEnded(list)) throw new ListUnreadable('the list has ended');

    const { fingerprint256 } = issuer;
    const fetchedAt = Date.now();
    lists.set(address, { ...list, issuer: fingerprint256, fetchedAt });
    await store.asSystem((tx) => endRevocationFault(tx, address));
    return list;
  }

  async function isRevoked(
    certificate: X509Certificate,
    issuer: X509Certificate,
  ): Promise<boolean> {
    const addresses = revocationAddressesOf(certificate);
    for (const address of addresses.slice(0, ADDRESSES_MAX)) {
      const list = await listAt(address, issuer);
      if (list !== undefined) return list.revoked.has(certificate.serialNumber);
    }

    return false;
  }

  return {
    /**
     * Whether a certificate, or one on its way to an anchor, is revoked. False
     * where no list can be had: that is noted for operators.
     *
     * @param chain of certificates that are trusted, so that strangers cannot
     * have addresses asked
     */
    async hasRevoked(chain: readonly X509Certificate[]): Promise<boolean> {
      for (const [index, issuer] of chain.slice(1).entries()) {
        const certificate = chain[index];
        if (certificate && (await isRevoked(certificate, issuer))) return true;
      }

      return false;
    },
  };
}

const hasEnded = ({ nextUpdate }: RevocationList): boolean =>
  nextUpdate !== undefined && nextUpdate.getTime() <= Date.now();

/** Its text is for operators. */
class ListUnreadable extends Error {
  override readonly name = 'ListUnreadable';
}

async function fetchList(
  address: string,
  rules: DestinationRules,
  dispatcher: Dispatcher,
): Promise<Buffer> {
  checkDestination(address, rules);
  const { statusCode, body } = await request(address, {
    dispatcher,
    signal: AbortSignal.timeout(FETCHED_WITHIN_MS),
  });
  if (statusCode !== 200) {
    await body.dump();
    throw new ListUnreadable(`the server answers ${statusCode}`);
  }

  const chunks: Buffer[] = [];
  let sizeBytes = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    sizeBytes += chunk.length;
    if (sizeBytes > BYTES_MAX)
      throw new ListUnreadable(`it has more than ${BYTES_MAX} bytes`);
  }

  return Buffer.concat(chunks);
}

function faultOf(error: unknown): string {
  if (error instanceof ListUnreadable) return error.message;
  if (error instanceof BlockedDestinationError) return error.message;
  if (error instanceof DirectError)
    return error.code === 'signature'
      ? 'it is not signed by the authority of the certificate'
      : 'it is no revocation list';
  const code = (error as { code?: unknown } | null)?.code;

  return `it cannot be read (${typeof code === 'string' ? code : 'no answer'})`;
}
