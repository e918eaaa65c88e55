/** As the admin CLI writes them; anything else would not be one source of the policy, but more of the policy. */
const ORIGIN = /^https?:\/\/[\w.:[\]-]+$/;

/**
 * The content security policy of the embedded page: its own script, style and calls, no HTML made from strings, and frames
 * only in pages of the account's origins.
 */
export function pagePolicy(frameAncestors: readonly string[]): string {
  const ancestors = frameAncestors.filter((origin) => ORIGIN.test(origin));
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    `frame-ancestors ${ancestors.length === 0 ? "'none'" : ancestors.join(' ')}`,
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; ');
}
