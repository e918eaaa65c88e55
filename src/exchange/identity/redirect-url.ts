import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { InvalidRequestError } from '../platform/errors.ts';

/**
 * Whether a browser may be sent there: https only, so no script schemes, no custom schemes that another app could claim,
 * and nothing in it that a reader of the address would be misled by. The embedded stack's callers may be on this machine.
 */
export function refusedRedirect(
  address: string,
  { allowLoopback }: { allowLoopback: boolean },
): string | undefined {
  if (!URL.canParse(address)) return 'is not a URL';
  const url = new URL(address);
  if (url.username !== '' || url.password !== '') return 'must not carry a user name or password';
  if (url.hash !== '') return 'must not carry a fragment';
  if (url.protocol === 'https:') return undefined;
  const isLoopback = url.protocol === 'http:' && isLoopbackHost(url.hostname.replace(/^\[|\]$/g, ''));
  return isLoopback && allowLoopback ? undefined : 'must be an https address';
}

/** Throws InvalidRequestError. */
export function checkRedirect(address: string, rules: { allowLoopback: boolean }): void {
  const refused = refusedRedirect(address, rules);
  if (refused !== undefined) throw new InvalidRequestError([{ path: 'redirectUrl', message: refused }]);
}

/** The caller's address with what came of it; its own parameters stay, ours win. */
export function redirectWith(address: string, params: Readonly<Record<string, string>>): string {
  const url = new URL(address);
  for (const [name, value] of Object.entries(params)) url.searchParams.set(name, value);
  return url.href;
}

const isLoopbackHost = (host: string): boolean =>
  host === 'localhost' || (isIP(host) !== 0 && ipaddr.process(host).range() === 'loopback');
