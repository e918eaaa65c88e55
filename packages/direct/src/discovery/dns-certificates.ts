import { X509Certificate } from 'node:crypto';
import { askDns, type DnsServer } from './ask-dns.ts';

const CERTIFICATES_MAX = 20;
/** Type, key tag and algorithm come before the certificate (RFC 4398, 2). */
const HEAD_BYTES = 5;
const PKIX = 1;

/**
 * The certificates that DNS has for a name as CERT records of the type PKIX
 * (RFC 4398). Records that cannot be read are left out.
 *
 * @throws {DiscoveryError}
 */
export async function certificatesInDns(
  name: string,
  servers: readonly DnsServer[],
  signal: AbortSignal,
): Promise<X509Certificate[]> {
  if (!isDnsName(name)) return [];
  const records = await askDns(name, 'CERT', servers, signal);

  return records
    .slice(0, CERTIFICATES_MAX)
    .flatMap(({ data }) => certificateIn(data));
}

/** Not every address has a name: `a..b@example.org` has none. */
const isDnsName = (name: string): boolean =>
  name.length <= 253 &&
  name.split('.').every((label) => label.length > 0 && label.length <= 63);

function certificateIn(record: Buffer): X509Certificate[] {
  if (record.length <= HEAD_BYTES || record.readUInt16BE(0) !== PKIX) return [];

  return readDer(record.subarray(HEAD_BYTES));
}

/** None for what is no certificate. */
export function readDer(der: Uint8Array): X509Certificate[] {
  try {
    return [new X509Certificate(der)];
  } catch {
    return [];
  }
}
