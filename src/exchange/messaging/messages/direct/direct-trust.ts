import type { X509Certificate } from 'node:crypto';
import {
  chainToAnchor,
  type DnsServer,
  findCertificates,
  isMeantFor,
  type OpenedMail,
  readCertificates,
  speaksFor,
} from '#direct';
import type { Store } from '../../../platform/database/database.ts';
import {
  type DestinationRules,
  guardedLookup,
} from '../../../platform/outbox/destination-guard.ts';
import type { Mailbox } from './mailbox-settings.ts';
import { createRevocation } from './revocation.ts';
import { anchorsOfBundles } from './trust-bundles/bundle-store.ts';

/** What of a mailbox says whom its account trusts. */
type Trusting = Pick<Mailbox, 'settings' | 'smime'>;

/** Whom an account that is its own provider trusts, both ways. */
export type DirectTrust = ReturnType<typeof createDirectTrust>;

/** @param dnsServers default: the resolvers of this machine */
export function createDirectTrust({
  store,
  destinations,
  dnsServers,
}: {
  store: Pick<Store, 'asSystem'>;
  destinations: DestinationRules;
  dnsServers?: readonly DnsServer[];
}) {
  const lookup = guardedLookup(destinations);
  const revocation = createRevocation({ store, destinations });

  /** Those of the account's file, and of its trust bundles as they are now. */
  async function anchorsOf({
    settings,
    smime,
  }: Trusting): Promise<X509Certificate[]> {
    const ofBundles = await store.asSystem((tx) =>
      anchorsOfBundles(tx, settings.bundles),
    );

    return [smime?.anchors ?? '', ofBundles].flatMap(readCertificates);
  }

  /** Those of some certificates that may be used for a purpose now. */
  async function usable(
    candidates: readonly X509Certificate[],
    purpose: Parameters<typeof isMeantFor>[1],
    address: string,
    others: readonly X509Certificate[],
    anchors: readonly X509Certificate[],
  ): Promise<X509Certificate[]> {
    const now = new Date();
    const found: X509Certificate[] = [];
    for (const each of candidates) {
      if (!speaksFor(each, address) || !isMeantFor(each, purpose)) continue;
      const chain = chainToAnchor(each, others, anchors, now);
      if (chain && !(await revocation.hasRevoked(chain))) found.push(each);
    }

    return found;
  }

  return {
    /**
     * The certificates with which mail to an address is encrypted: of the
     * address or of its domain, valid now, trusted, and not revoked. Those of the account's
     * files, so that an operator can decide; without one there, those that the
     * domain publishes.
     *
     * @throws {DiscoveryError} when it may help to try later
     */
    async certificatesFor(
      mailbox: Trusting,
      address: string,
      signal?: AbortSignal,
    ): Promise<X509Certificate[]> {
      const anchors = await anchorsOf(mailbox);
      const filed = readCertificates(mailbox.smime?.recipients ?? '');
      const chosen = (found: X509Certificate[]) =>
        usable(found, 'encrypting', address, found, anchors);
      const inFiles = await chosen(filed);
      if (inFiles.length > 0) return inFiles;

      return findCertificates(address, chosen, { lookup, dnsServers, signal });
    },

    /**
     * The signer of a mail who is trusted, and speaks for its sender; undefined
     * when none of them does.
     */
    async signerFor(
      mailbox: Trusting,
      sender: string,
      { signers, certificates }: OpenedMail,
    ): Promise<X509Certificate | undefined> {
      const anchors = await anchorsOf(mailbox);
      const [signer] = await usable(
        signers,
        'signing',
        sender,
        certificates,
        anchors,
      );

      return signer;
    },
  };
}
