import type { X509Certificate } from 'node:crypto';
import {
  type DnsServer,
  findCertificates,
  isMeantFor,
  isTrusted,
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

  function chosen(
    found: X509Certificate[],
    address: string,
    anchors: readonly X509Certificate[],
  ): X509Certificate[] {
    const now = new Date();

    return found.filter(
      (each) =>
        speaksFor(each, address) &&
        isMeantFor(each, 'encrypting') &&
        isTrusted(each, found, anchors, now),
    );
  }

  return {
    /**
     * The certificates with which mail to an address is encrypted: of the
     * address or of its domain, valid now, and trusted. Those of the account's
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
      const inFiles = chosen(filed, address, anchors);
      if (inFiles.length > 0) return inFiles;

      return findCertificates(
        address,
        async (found) => chosen(found, address, anchors),
        { lookup, dnsServers, signal },
      );
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
      const now = new Date();

      return signers.find(
        (each) =>
          speaksFor(each, sender) &&
          isMeantFor(each, 'signing') &&
          isTrusted(each, certificates, anchors, now),
      );
    },
  };
}
