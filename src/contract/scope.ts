/**
 * What an API key may be allowed. Each stands for itself: `write` does not let a key read. `webhooks-admin` is for the
 * addresses that webhooks go to and the keys they are signed with: whoever has those can read along, or forge.
 */
export const SCOPES = ['read', 'write', 'webhooks-admin'] as const;
export type Scope = (typeof SCOPES)[number];

/** What a key needs for an operation: what its row says, else `read` for GET and `write` for everything else. */
export const scopeOf = ({ method, scope }: { method: string; scope?: Scope }): Scope =>
  scope ?? (method === 'GET' ? 'read' : 'write');
