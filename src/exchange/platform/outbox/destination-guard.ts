import { lookup as dnsLookup, type LookupAddress } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import ipaddr from 'ipaddr.js';

export interface DestinationRules {
  /** Embedded stack only: plain http to this very machine is fine. */
  allowLoopback: boolean;
  /** Origins (`http://receiver:8081`) that the operator vouches for, private or not. */
  trustedOrigins?: readonly string[];
}

/** A destination that webhooks must not reach. The message names no address. */
export class BlockedDestinationError extends Error {
  override readonly name = 'BlockedDestinationError';
  readonly code = 'EDESTINATION';
}

/**
 * Whether webhooks may go to this address, judged by the URL alone: undefined, or why not. Literal hosts have to be
 * judged here, for nobody looks them up when connecting; names are judged again by `guardedLookup`.
 */
export function refusedDestination(address: string, rules: DestinationRules): string | undefined {
  const url = parseUrl(address);
  if (url === undefined) return 'is not a URL';
  if (url.username !== '' || url.password !== '') return 'must not carry a user name or password';
  if (url.hash !== '') return 'must not carry a fragment';
  if (isTrusted(url, rules)) return undefined;
  // WHATWG URLs have already turned 2130706433 and 0x7f.1 into 127.0.0.1.
  const host = url.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
  const onThisMachine = isLoopbackHost(host);
  if (onThisMachine && !rules.allowLoopback) return 'must not lead to this machine';
  if (url.protocol !== 'https:' && !(onThisMachine && url.protocol === 'http:'))
    return 'must be an https address';
  if (onThisMachine) return undefined;
  if (isIP(host) !== 0) return isPublic(host) ? undefined : 'must not lead into a private network';
  const isInternalName = !host.includes('.') || /\.(local|internal|localdomain|home\.arpa)$/i.test(host);
  return isInternalName ? 'must have a public host name' : undefined;
}

/** The same for the moment of sending. Throws BlockedDestinationError. */
export function checkDestination(address: string, rules: DestinationRules): void {
  const refused = refusedDestination(address, rules);
  if (refused !== undefined) throw new BlockedDestinationError(`the destination ${refused}`);
}

/**
 * The look-up of a socket to a destination (`connect: { lookup }` of an undici Agent): connects only when every
 * address of the name is allowed, so that a name cannot turn private after it was checked.
 */
export function guardedLookup(rules: DestinationRules): LookupFunction {
  return (hostname, options, callback) => {
    dnsLookup(hostname, { ...options, all: true }, (error, addresses: LookupAddress[]) => {
      if (error !== null) return callback(error, []);
      const refused = addresses.some(
        ({ address }) => !isPublic(address) && !(rules.allowLoopback && isLoopback(address)),
      );
      const [first] = addresses;
      if (refused || first === undefined) {
        return callback(
          new BlockedDestinationError('the name of the destination leads into a private network'),
          [],
        );
      }
      return options.all === true ? callback(null, addresses) : callback(null, first.address, first.family);
    });
  };
}

/** Whether the operator vouches for the very origin; its name may then lead anywhere. */
export function isTrustedDestination(address: string, rules: DestinationRules): boolean {
  const url = parseUrl(address);
  return url !== undefined && isTrusted(url, rules);
}

const isTrusted = (url: URL, rules: DestinationRules): boolean =>
  rules.trustedOrigins?.includes(url.origin) === true;

function parseUrl(address: string): URL | undefined {
  return URL.canParse(address) ? new URL(address) : undefined;
}

function isLoopbackHost(host: string): boolean {
  return /^(.+\.)?localhost$/i.test(host) || (isIP(host) !== 0 && isLoopback(host));
}

const isLoopback = (address: string): boolean => rangeOf(address) === 'loopback';

/** Public by its range, and yet the inside of a cloud: Azure's platform and metadata. */
const CLOUD_ADDRESSES = new Set(['168.63.129.16']);
/** Of IPv6 only this part is given out as public; outside of it an IPv4 address may be wrapped (`::127.0.0.1`). */
const GLOBAL_IPV6 = ipaddr.parseCIDR('2000::/3');

/** Everything that is not plainly public is refused: private, link-local, metadata, shared, reserved, mapped. */
function isPublic(address: string): boolean {
  const parsed = parseAddress(address);
  if (parsed.range() !== 'unicast' || CLOUD_ADDRESSES.has(parsed.toString())) return false;
  return parsed.kind() === 'ipv4' || parsed.match(GLOBAL_IPV6);
}

const rangeOf = (address: string): string => parseAddress(address).range();

/** `process` unwraps IPv4 that is mapped into IPv6. */
const parseAddress = (address: string) => ipaddr.process(address.split('%')[0] ?? address);
