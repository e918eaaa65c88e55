import type { X509Certificate } from 'node:crypto';
import { isTrusted, readCertificates, speaksFor } from '#direct';
import type { MailboxCredentials } from './mailbox-settings.ts';

type Smime = NonNullable<MailboxCredentials['smime']>;

/**
 * The certificates with which mail to an address is encrypted: those of the
 * address or of its domain that are valid now, and trusted.
 */
export function certificatesOfRecipient(
  { recipients, anchors }: Pick<Smime, 'recipients' | 'anchors'>,
  address: string,
): X509Certificate[] {
  const known = readCertificates(recipients);
  const trusted = readCertificates(anchors);
  const now = new Date();

  return known.filter(
    (each) => speaksFor(each, address) && isTrusted(each, known, trusted, now),
  );
}
