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
      'Starts a session in which the identity partner verifies that a person is this patient. Give `sessionUrl` to that person only; it works for 7 days. The webhook `ias.identity.verified` delivers the `proofedIdentityId`.',
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
    description:
      'Status of the verification. Use it if you did not receive the webhook `ias.identity.verified`.',
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
      'Starts a two-factor challenge for a verified identity. If the person passes it within one hour, a session of 12 hours begins; send its `aal2SessionId` in `x-aal2-session` to "Start network query" with `purposeOfUse=ias`.',
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
    // The response contains the session id, with which a query can be started.
    scope: 'write',
    summary: 'Get AAL2 challenge',
    description:
      'Status of the challenge and, once it is passed, its session. Use it if the person did not return to `redirectUrl`.',
    params: byId,
    responses: { 200: aal2ChallengeStateSchema },
    errors: [404],
  }),
} as const;
