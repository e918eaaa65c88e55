import { createEmbedTokenBodySchema, embedTokenSchema } from './embed.ts';
import { endpoint } from './endpoint.ts';
import { idempotency } from './endpoint-parts.ts';

export const embedTokenEndpoints = {
  createEmbedToken: endpoint('POST /medical/v1/token/embed', {
    scope: 'read',
    headers: idempotency,
    body: createEmbedTokenBodySchema,
    responses: { 200: embedTokenSchema },
  }),
} as const;
