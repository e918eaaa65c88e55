/** The path below which the page's own gateway is, the account, and the patient, from the address of the page. */
export const [, , base = '', account = '', patient = ''] =
  /^((.*)\/embed)\/([^/]+)\/patient\/([^/]+)/.exec(location.pathname) ?? [];

/** The address of a route that only this page uses. @param {string} name */
export const routeOf = (name) =>
  `${base}/embed/${account}/patient/${patient}/${name}`;

/**
 * A call with the token in a header, never in a URL.
 * @param {string} path @param {string} authorization @param {AbortSignal} signal
 */
const call = (path, authorization, signal) =>
  fetch(path, {
    headers: { authorization },
    signal,
    cache: 'no-store',
    referrerPolicy: 'no-referrer',
  });

/** The token in the URL; empty without one. */
export const tokenInUrl = () =>
  new URLSearchParams(location.hash.slice(1)).get('access_token') ?? '';

/**
 * The record is asked for by this script, which needs no other one, while the others are loaded: reading it takes the longest.
 * Undefined once it is taken, or without a token.
 */
let begun = begin();

function begin() {
  const token = tokenInUrl();
  if (token === '') return undefined;
  const path = routeOf('summary');
  const authorization = `Bearer ${token}`;
  const ending = new AbortController();
  const answer = call(path, authorization, ending.signal);
  // A failure is thrown where the answer is taken.
  answer.catch(() => undefined);
  return { path, authorization, ending, answer };
}

/**
 * As `call`, and takes what was asked for already.
 * @param {string} path @param {string} authorization @param {AbortSignal} signal @returns {Promise<Response>}
 */
export function callOnce(path, authorization, signal) {
  if (begun?.path !== path) return call(path, authorization, signal);
  const { ending, answer } = begun;
  const isSame = begun.authorization === authorization;
  begun = undefined;
  if (isSame) signal.addEventListener('abort', () => ending.abort());
  if (!isSame || signal.aborted) ending.abort();
  return isSame ? answer : call(path, authorization, signal);
}
