import { createEmbedTokenBodySchema, embedTokenSchema } from './embed.ts';
import { endpoint } from './endpoint.ts';
import { idempotency } from './endpoint-parts.ts';

export const embedTokenEndpoints = {
  createEmbedToken: endpoint({
    method: 'POST',
    path: '/medical/v1/token/embed',
    reference: 'E1',
    tag: 'embedding',
    // The token grants read access, so the key that creates it must have that scope.
    scope: 'read',
    summary: 'Create embed token',
    description:
      'Creates a token for the embedded patient page, `/embed/{account}/patient/{id}#access_token={token}`. The token can read what that page shows, for any patient of the account, and nothing else. It becomes invalid when it expires or when the API key that created it is revoked.',
    headers: idempotency,
    body: createEmbedTokenBodySchema,
    responses: { 200: embedTokenSchema },
  }),
} as const;
