import { endpoint } from './endpoint.ts';
import { byId } from './endpoint-parts.ts';
import {
  aal2ChallengeRequestSchema,
  aal2ChallengeSchema,
  aal2ChallengeStateSchema,
  identitySessionRequestSchema,
  identitySessionSchema,
  identitySessionStateSchema,
} from './identity.ts';

export const identityEndpoints = {
  createIdentitySession: endpoint('POST /medical/v1/identity/session', {
    body: identitySessionRequestSchema,
    responses: { 200: identitySessionSchema },
    errors: [404],
  }),
  getIdentitySession: endpoint('GET /medical/v1/identity/session/:id', {
    params: byId,
    responses: { 200: identitySessionStateSchema },
    errors: [404],
  }),
  createAal2Challenge: endpoint('POST /medical/v1/identity/aal2/challenge', {
    body: aal2ChallengeRequestSchema,
    responses: { 200: aal2ChallengeSchema },
    errors: [404],
  }),
  getAal2Challenge: endpoint('GET /medical/v1/identity/aal2/challenge/:id', {
    scope: 'write',
    params: byId,
    responses: { 200: aal2ChallengeStateSchema },
    errors: [404],
  }),
} as const;
