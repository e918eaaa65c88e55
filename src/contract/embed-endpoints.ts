import { createEmbedTokenBodySchema, embedTokenSchema } from './embed.ts';
import { endpoint } from './endpoint.ts';
import { idempotency } from './endpoint-parts.ts';

export const embedTokenEndpoints = {
  createEmbedToken: endpoint({
    method: 'POST',
    path: '/medical/v1/token/embed',
    reference: 'E1',
    tag: 'embedding',
    // What is made reads, so that is what the maker must be allowed.
    scope: 'read',
    summary: 'Create embed token',
    description:
      'A token for the embedded patient page, `/embed/{account}/patient/{id}#access_token={token}`. It reads what that page shows, of any patient of the account, and nothing else; it dies with its time and with the API key that made it.',
    headers: idempotency,
    body: createEmbedTokenBodySchema,
    responses: { 200: embedTokenSchema },
  }),
} as const;
