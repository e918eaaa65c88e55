import { lookup as dnsLookup, type LookupAddress } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import ipaddr from 'ipaddr.js';
import { Agent, type Dispatcher } from 'undici';
import { lookupTable } from '../../../lib/lookup-table.ts';

export interface DestinationRules {
  /** Embedded stack only: allows plain http to this machine. */
  allowLoopback: boolean;
  /**
   * Ports of this machine that are not for webhooks: those of the stack itself.
   */
  refusedPorts?: readonly number[];
  /**
   * Origins (such as `http://receiver:8081`) that the operator allows although
   * they are private or plain http.
   */
  trustedOrigins?: readonly string[];
  /** Takes plain http to public addresses: for what is signed itself. */
  allowHttp?: boolean;
}

/**
 * Webhooks must not be sent to this destination. The message contains no
 * address.
 */
export class BlockedDestinationError extends Error {
  override readonly name = 'BlockedDestinationError';
  readonly code = 'EDESTINATION';
}

/**
 * Checks a destination by its URL alone. Returns undefined if webhooks may be
 * sent there, else the reason why not. IP addresses must be checked here,
 * because connecting to them involves no look-up; host names are checked again
 * by `guardedLookup`.
 */
export function destinationProblem(
  address: string,
  rules: DestinationRules,
): string | undefined {
  const url = parseUrl(address);
  if (url === undefined) return 'is not a URL';
  if (url.username !== '' || url.password !== '')
    return 'must not carry a user name or password';
  if (url.hash !== '') return 'must not carry a fragment';
  if (isTrusted(url, rules)) return undefined;
  // The URL parser has already converted forms such as 2130706433 and 0x7f.1 to
  // 127.0.0.1.
  const host = url.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
  const onThisMachine = isLoopbackHost(host);
  if (onThisMachine && !rules.allowLoopback)
    return 'must not be an address of this machine';
  if (!protocolsOf(rules, onThisMachine).includes(url.protocol))
    return 'must be an https URL';
  if (onThisMachine)
    return rules.refusedPorts?.includes(
      Number(url.port || DEFAULT_PORTS[url.protocol]),
    )
      ? 'must not be a port of this service itself'
      : undefined;
  if (isIP(host) !== 0)
    return isPublic(host)
      ? undefined
      : 'must not be an address in a private network';
  const isInternalName =
    !host.includes('.') ||
    /\.(local|internal|localdomain|home\.arpa)$/i.test(host);
  return isInternalName ? 'must have a public host name' : undefined;
}

function protocolsOf(
  { allowHttp }: DestinationRules,
  onThisMachine: boolean,
): string[] {
  return onThisMachine || allowHttp === true ? ['https:', 'http:'] : ['https:'];
}

const DEFAULT_PORTS = lookupTable<Record<string, number>>({
  'http:': 80,
  'https:': 443,
});

/**
 * Throws BlockedDestinationError if webhooks must not be sent to the address.
 */
export function checkDestination(
  address: string,
  rules: DestinationRules,
): void {
  const problem = destinationProblem(address, rules);
  if (problem !== undefined)
    throw new BlockedDestinationError(`the destination ${problem}`);
}

/**
 * DNS look-up for sockets to destinations (`connect: { lookup }` of an undici
 * Agent). Fails unless every address of the host name is allowed, so that a
 * name cannot be pointed to a private address after it was checked (DNS
 * rebinding).
 */
export function guardedLookup(rules: DestinationRules): LookupFunction {
  return (hostname, options, callback) => {
    dnsLookup(
      hostname,
      { ...options, all: true },
      (error, addresses: LookupAddress[]) => {
        if (error !== null) return callback(error, []);
        // Only names that are always of this machine: another one was not
        // checked against the ports of this service.
        const mayBeHere = rules.allowLoopback && isLoopbackHost(hostname);
        const refused = addresses.some(
          ({ address }) =>
            !isPublic(address) && !(mayBeHere && isLoopback(address)),
        );
        const [first] = addresses;
        if (refused || first === undefined) {
          return callback(
            new BlockedDestinationError(
              'the host name of the destination resolves to a private network',
            ),
            [],
          );
        }
        return options.all === true
          ? callback(null, addresses)
          : callback(null, first.address, first.family);
      },
    );
  };
}

const CONNECT_TIMEOUT_MS = 5_000;

/**
 * What connects to an address by these rules: to a public address only, or to
 * any address if the operator trusts exactly this origin. `destinationProblem`
 * must have been asked before.
 */
export function guardedDispatchers(
  rules: DestinationRules,
  limits: Omit<Agent.Options, 'connect'>,
): (address: string) => Dispatcher {
  const guarded = new Agent({
    connect: { lookup: guardedLookup(rules), timeout: CONNECT_TIMEOUT_MS },
    ...limits,
  });
  // A separate agent, so that other ports of a trusted host remain guarded.
  const trusted = new Agent({
    connect: { timeout: CONNECT_TIMEOUT_MS },
    ...limits,
  });
  return (address) => {
    const url = parseUrl(address);
    return url !== undefined && isTrusted(url, rules) ? trusted : guarded;
  };
}

const isTrusted = (url: URL, rules: DestinationRules): boolean =>
  rules.trustedOrigins?.includes(url.origin) === true;

function parseUrl(address: string): URL | undefined {
  return URL.canParse(address) ? new URL(address) : undefined;
}

function isLoopbackHost(host: string): boolean {
  return (
    /^(.+\.)?localhost$/i.test(host) || (isIP(host) !== 0 && isLoopback(host))
  );
}

const isLoopback = (address: string): boolean =>
  rangeOf(address) === 'loopback';

/**
 * Addresses of a public range that are internal to a cloud: Azure's platform
 * and metadata services.
 */
const CLOUD_ADDRESSES = new Set(['168.63.129.16']);
/**
 * The only public IPv6 range. Addresses outside of it may contain an IPv4
 * address (`::127.0.0.1`).
 */
const GLOBAL_IPV6 = ipaddr.parseCIDR('2000::/3');

/**
 * Whether an address is public. Private, link-local, metadata, shared, reserved
 * and mapped addresses are not.
 */
function isPublic(address: string): boolean {
  const parsed = parseAddress(address);
  if (parsed.range() !== 'unicast' || CLOUD_ADDRESSES.has(parsed.toString()))
    return false;
  return parsed.kind() === 'ipv4' || parsed.match(GLOBAL_IPV6);
}

const rangeOf = (address: string): string => parseAddress(address).range();

/** `process` converts IPv4-mapped IPv6 addresses to IPv4. */
const parseAddress = (address: string) =>
  ipaddr.process(address.split('%')[0] ?? address);
