import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { InvalidRequestError } from '../../platform/errors.ts';

/**
 * Why a browser may not be redirected to this URL; undefined when it may. Only https is allowed: no script schemes, and no
 * custom schemes that another app could claim. User names and fragments are refused, because they can mislead a reader of the
 * address. `allowLoopback` also allows http to this machine, for the embedded stack.
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

/** Throws InvalidRequestError for a URL that `refusedRedirect` refuses. */
export function checkRedirect(address: string, rules: { allowLoopback: boolean }): void {
  const refused = refusedRedirect(address, rules);
  if (refused !== undefined) throw new InvalidRequestError([{ path: 'redirectUrl', message: refused }]);
}

/** The caller's URL with the outcome as query parameters. Its other parameters stay; those of the same name are replaced. */
export function redirectWith(address: string, params: Readonly<Record<string, string>>): string {
  const url = new URL(address);
  for (const [name, value] of Object.entries(params)) url.searchParams.set(name, value);
  return url.href;
}

const isLoopbackHost = (host: string): boolean =>
  host === 'localhost' || (isIP(host) !== 0 && ipaddr.process(host).range() === 'loopback');
