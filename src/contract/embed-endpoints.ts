import { createEmbedTokenBodySchema, embedTokenSchema } from './embed.ts';
import { endpoint } from './endpoint.ts';

export const embedTokenEndpoints = {
  createEmbedToken: endpoint('POST /medical/v1/token/embed', {
    scope: 'read',
    body: createEmbedTokenBodySchema,
    responses: { 200: embedTokenSchema },
  }),
} as const;
