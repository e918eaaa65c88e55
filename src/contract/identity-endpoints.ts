import { endpoint } from './endpoint.ts';
import { byId, idempotency } from './endpoint-parts.ts';
import {
  aal2ChallengeRequestSchema,
  aal2ChallengeSchema,
  aal2ChallengeStateSchema,
  identitySessionRequestSchema,
  identitySessionSchema,
  identitySessionStateSchema,
} from './identity.ts';

const reference = 'Operations around E1–E14';

export const identityEndpoints = {
  createIdentitySession: endpoint({
    method: 'POST',
    path: '/medical/v1/identity/session',
    reference,
    tag: 'identity',
    summary: 'Create identity session',
    description:
      'Has the identity partner verify that a person is this patient. The answer’s `sessionUrl` is for that person alone and works for 7 days; the webhook `ias.identity.verified` brings the `proofedIdentityId`.',
    headers: idempotency,
    body: identitySessionRequestSchema,
    responses: { 200: identitySessionSchema },
    errors: [404],
  }),
  getIdentitySession: endpoint({
    method: 'GET',
    path: '/medical/v1/identity/session/:id',
    reference: 'Ours: docs/decisions/0046',
    tag: 'identity',
    summary: 'Get identity session',
    description: 'How far the verification is: for whoever missed the webhook `ias.identity.verified`.',
    params: byId,
    responses: { 200: identitySessionStateSchema },
    errors: [404],
  }),
  createAal2Challenge: endpoint({
    method: 'POST',
    path: '/medical/v1/identity/aal2/challenge',
    reference,
    tag: 'identity',
    summary: 'Create AAL2 challenge',
    description:
      'Asks a verified identity for two factors. Passed within the hour, it has a session of 12 hours: the `aal2SessionId` is what "start network query" with `purposeOfUse=ias` wants in `x-aal2-session`.',
    headers: idempotency,
    body: aal2ChallengeRequestSchema,
    responses: { 200: aal2ChallengeSchema },
    errors: [404],
  }),
  getAal2Challenge: endpoint({
    method: 'GET',
    path: '/medical/v1/identity/aal2/challenge/:id',
    reference: 'Ours: docs/decisions/0046',
    tag: 'identity',
    // It hands out what a query may be started with.
    scope: 'write',
    summary: 'Get AAL2 challenge',
    description:
      'How far the challenge is, and once it is passed its session: for whoever missed the person’s way back to `redirectUrl`.',
    params: byId,
    responses: { 200: aal2ChallengeStateSchema },
    errors: [404],
  }),
} as const;
