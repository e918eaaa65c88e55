/** A valid origin, as stored by the admin CLI; any other text could inject further directives into the policy. */
const ORIGIN = /^https?:\/\/[\w.:[\]-]+$/;

/**
 * The Content-Security-Policy of the embedded page: only its own scripts, styles and requests, no HTML from strings, and
 * framing only by pages of the account's origins.
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
