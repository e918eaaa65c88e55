/**
 * Scopes of an API key. They are independent: `write` does not include `read`.
 * `webhooks-admin` covers webhook destinations and signing keys, which would
 * allow a caller to receive or forge webhooks.
 */
export const SCOPES = ['read', 'write', 'webhooks-admin'] as const;
export type Scope = (typeof SCOPES)[number];

/**
 * The scope that an operation requires: the one it defines, else `read` for GET
 * and `write` for all other methods.
 */
export const scopeOf = ({
  method,
  scope,
}: {
  method: string;
  scope?: Scope;
}): Scope => scope ?? (method === 'GET' ? 'read' : 'write');
