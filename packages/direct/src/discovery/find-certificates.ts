import type { X509Certificate } from 'node:crypto';
import type { LookupFunction } from 'node:net';
import { type DnsServer, systemDnsServers } from './ask-dns.ts';
import { DiscoveryError } from './discovery-error.ts';
import { certificatesInDns } from './dns-certificates.ts';
import { certificatesInLdap, ldapServersOf } from './ldap-certificates.ts';

export interface DiscoveryOptions {
  /**
   * Decides to which addresses an LDAP connection may go: whoever publishes a
   * domain chooses its server.
   */
  lookup: LookupFunction;

  /** Default: the resolvers of this machine. */
  dnsServers?: readonly DnsServer[] | undefined;

  signal?: AbortSignal | undefined;
}

/** All places of an address are asked within this time. */
const DISCOVERY_WITHIN_MS = 20_000;

/**
 * Finds the published certificates of a Direct address, in the order of the
 * Applicability Statement 1.3 (5): in DNS those of the address, then of its
 * domain, then in the domain's LDAP directory likewise. A place whose
 * certificates are all of no use is passed by, and so is one that cannot be
 * asked.
 *
 * @param usable which of a place's certificates may be used
 * @returns those of the first place that has any
 * @throws {DiscoveryError} when there is none, and a place could not be asked:
 * it may have had one
 */
export async function findCertificates(
  address: string,
  usable: (found: X509Certificate[]) => Promise<X509Certificate[]>,
  { lookup, dnsServers = systemDnsServers(), signal }: DiscoveryOptions,
): Promise<X509Certificate[]> {
  const timeUp = AbortSignal.timeout(DISCOVERY_WITHIN_MS);
  const within = signal ? AbortSignal.any([signal, timeUp]) : timeUp;
  let failure: DiscoveryError | undefined;

  for (const ask of placesOf(address, lookup, dnsServers, within)) {
    const lists = await ask().catch((error: unknown) => {
      signal?.throwIfAborted();
      if (!timeUp.aborted && !(error instanceof DiscoveryError)) throw error;
      failure =
        error instanceof DiscoveryError
          ? error
          : new DiscoveryError('the time for it is up');

      return [];
    });
    for (const found of lists) {
      const chosen = await usable(distinct(found));
      if (chosen.length > 0) return chosen;
    }
  }

  if (failure !== undefined) throw failure;
  return [];
}

/** What to ask, one after the other; each answers with lists by preference. */
function* placesOf(
  address: string,
  lookup: LookupFunction,
  dnsServers: readonly DnsServer[],
  signal: AbortSignal,
): Generator<() => Promise<X509Certificate[][]>> {
  const wanted = address.toLowerCase();
  const at = wanted.lastIndexOf('@');
  const domain = wanted.slice(at + 1);
  const inDns = (name: string) => async () => [
    await certificatesInDns(name, dnsServers, signal),
  ];

  yield inDns(`${wanted.slice(0, at)}.${domain}`);
  yield inDns(domain);
  yield async () => {
    const servers = await ldapServersOf(domain, dnsServers, signal);

    return servers.length === 0
      ? []
      : certificatesInLdap(servers, [wanted, domain], lookup, signal);
  };
}

const distinct = (found: X509Certificate[]): X509Certificate[] => [
  ...new Map(found.map((each) => [each.fingerprint256, each])).values(),
];
