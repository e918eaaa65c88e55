import type { X509Certificate } from 'node:crypto';
import { connect, isIP, type LookupFunction, type Socket } from 'node:net';
import { Client, type Entry, EqualityFilter } from 'ldapts';
import { certificatesOf, readSignedData } from '../smime/cms-verify.ts';
import { askDns, type DnsServer } from './ask-dns.ts';
import { DiscoveryError } from './discovery-error.ts';
import { readDer } from './dns-certificates.ts';

/** An LDAP server, as DNS names it. */
export interface LdapServer {
  host: string;
  port: number;
}

const SERVERS_MAX = 3;
const BASES_MAX = 5;
const CERTIFICATES_MAX = 20;
const BYTES_MAX = 1_000_000;
const ANSWER_WITHIN_MS = 5_000;

/**
 * The LDAP servers of a domain, by its SRV records, the preferred one first
 * (RFC 2782). An address in place of a name is not one, and would not be looked
 * up.
 *
 * @throws {DiscoveryError}
 */
export async function ldapServersOf(
  domain: string,
  servers: readonly DnsServer[],
  signal: AbortSignal,
): Promise<LdapServer[]> {
  const records = await askDns(`_ldap._tcp.${domain}`, 'SRV', servers, signal);

  return records
    .map(({ data }) => data)
    .sort(
      (one, other) =>
        (one.priority ?? 0) - (other.priority ?? 0) ||
        (other.weight ?? 0) - (one.weight ?? 0),
    )
    .map(({ target, port }) => ({ host: target.replace(/\.$/, ''), port }))
    .filter(({ host }) => host !== '' && isIP(host) === 0)
    .slice(0, SERVERS_MAX);
}

/**
 * The certificates that a directory has for each of some values of `mail`, read
 * without a login. The first server that answers is believed.
 *
 * @param lookup decides where connections may go
 * @throws {DiscoveryError} when none answers
 */
export async function certificatesInLdap(
  servers: readonly LdapServer[],
  mails: readonly string[],
  lookup: LookupFunction,
  signal: AbortSignal,
): Promise<X509Certificate[][]> {
  for (const server of servers) {
    const found = await readDirectory(server, mails, lookup, signal).catch(
      () => undefined,
    );
    signal.throwIfAborted();
    if (found !== undefined) return found;
  }

  throw new DiscoveryError('the LDAP server of the domain does not answer');
}

async function readDirectory(
  { host, port }: LdapServer,
  mails: readonly string[],
  lookup: LookupFunction,
  signal: AbortSignal,
): Promise<X509Certificate[][]> {
  const soon = AbortSignal.any([signal, AbortSignal.timeout(ANSWER_WITHIN_MS)]);
  const client = new Client({
    url: `ldap://${host}:${port}`,
    timeout: ANSWER_WITHIN_MS,
    connectTimeout: ANSWER_WITHIN_MS,
    createConnection: (() =>
      bounded(connect({ host, port, lookup, signal: soon }))) as typeof connect,
  });
  try {
    await client.bind('', '');
    const bases = await namingContexts(client);
    const found: X509Certificate[][] = [];
    for (const mail of mails) found.push(await search(client, bases, mail));

    return found;
  } finally {
    await client.unbind().catch(() => {});
  }
}

/** A server that sends more than a directory of certificates needs is left. */
function bounded(socket: Socket): Socket {
  socket.on('data', () => {
    if (socket.bytesRead > BYTES_MAX)
      socket.destroy(new DiscoveryError('the LDAP server sends too much'));
  });

  return socket;
}

async function namingContexts(client: Client): Promise<string[]> {
  const { searchEntries } = await client.search('', {
    scope: 'base',
    attributes: ['namingContexts'],
  });
  const values = searchEntries.flatMap(({ namingContexts = [] }) =>
    [namingContexts].flat(),
  );

  return values.map(String).slice(0, BASES_MAX);
}

const ATTRIBUTES = ['userCertificate', 'userSMIMECertificate'];
/** Servers answer by either name. */
const NAMES = ATTRIBUTES.flatMap((each) => [each, `${each};binary`]);

async function search(
  client: Client,
  bases: readonly string[],
  mail: string,
): Promise<X509Certificate[]> {
  const found: X509Certificate[] = [];
  for (const base of bases) {
    const { searchEntries } = await client.search(base, {
      filter: new EqualityFilter({ attribute: 'mail', value: mail }),
      attributes: NAMES,
      explicitBufferAttributes: NAMES,
    });
    found.push(...searchEntries.flatMap(certificatesOfEntry));
  }

  return found.slice(0, CERTIFICATES_MAX);
}

function certificatesOfEntry(entry: Entry): X509Certificate[] {
  return NAMES.flatMap((name) => [entry[name] ?? []].flat())
    .filter((value) => Buffer.isBuffer(value))
    .slice(0, CERTIFICATES_MAX)
    .flatMap((der) => {
      const [certificate] = readDer(der);

      return certificate === undefined ? certificatesInCms(der) : [certificate];
    });
}

/** `userSMIMECertificate` is a CMS of certificates (RFC 2798, 2.8). */
function certificatesInCms(der: Uint8Array): X509Certificate[] {
  try {
    return certificatesOf(readSignedData(der));
  } catch {
    return [];
  }
}
