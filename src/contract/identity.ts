import { z } from 'zod';
import { URL_LENGTH_MAX } from './bounds.ts';
import { type ExamplesOf, endpoint } from './endpoint.ts';
import { eventMetaOf } from './event-meta.ts';
import { metadataSchema } from './network-query.ts';
import { component, idSchema, instantSchema } from './primitives.ts';

/**
 * Individual access services (IAS): identity verification and AAL2 challenges
 * (docs/interface.md, Individual access).
 */
const redirectUrlSchema = z
  .string()
  .max(URL_LENGTH_MAX, {
    error: 'redirectUrl must have at most 2,000 characters',
  })
  .meta({
    format: 'uri',
    description:
      'https URL to which the person’s browser is redirected afterwards.',
  });

export const identitySessionRequestSchema = z
  .object({
    patientId: idSchema,
    redirectUrl: redirectUrlSchema,
    metadata: metadataSchema.optional(),
  })
  .meta({ id: 'IdentitySessionRequest' });

export const identitySessionSchema = component('IdentitySession', {
  sessionId: idSchema,
  sessionUrl: z
    .string()
    .describe(
      'Page on which the person verifies their identity. Afterwards the browser is redirected to `redirectUrl` with `sessionId` and `status` (verified or failed). If verified, the webhook `ias.identity.verified` is sent.',
    ),
  expiresAt: instantSchema,
  status: z.enum(['pending', 'verified', 'failed']),
});

/**
 * States of a verification or challenge; a pending one becomes expired when its
 * time is over.
 */
export const VERIFICATION_STATES = [
  'pending',
  'verified',
  'failed',
  'expired',
] as const;

export const identitySessionStateSchema = component('IdentitySessionState', {
  sessionId: idSchema,
  patientId: idSchema,
  status: z.enum(VERIFICATION_STATES),
  expiresAt: instantSchema,
  proofedIdentityId: idSchema
    .optional()
    .describe('Present if the status is verified.'),
  verifiedAt: instantSchema.optional(),
  reason: z.string().optional().describe('Why the verification failed.'),
});

export const aal2ChallengeRequestSchema = z
  .object({ proofedIdentityId: idSchema, redirectUrl: redirectUrlSchema })
  .meta({ id: 'Aal2ChallengeRequest' });

export const aal2ChallengeSchema = component('Aal2Challenge', {
  challengeId: idSchema,
  challengeUrl: z
    .string()
    .describe(
      'Page on which the person authenticates with two factors. Afterwards the browser is redirected to `redirectUrl` with `aal2SessionId` and `status=verified`, or with `status=failed`.',
    ),
  expiresAt: instantSchema,
  method: z
    .string()
    .describe(
      'Authentication method of the identity partner, such as `otp` or `passkey`.',
    ),
});

export const aal2ChallengeStateSchema = component('Aal2ChallengeState', {
  challengeId: idSchema,
  status: z.enum(VERIFICATION_STATES),
  expiresAt: instantSchema,
  aal2SessionId: z
    .string()
    .optional()
    .describe(
      'Present if the challenge was passed and its session is still active.',
    ),
  sessionExpiresAt: instantSchema.optional(),
  reason: z.string().optional().describe('Why the challenge failed.'),
});

export const IDENTITY_VERIFIED_EVENT_TYPE = 'ias.identity.verified';

/**
 * Sent when a patient's identity has been verified (docs/interface.md, Events).
 */
export const identityVerifiedEventSchema = component('IdentityVerifiedEvent', {
  meta: eventMetaOf(z.literal(IDENTITY_VERIFIED_EVENT_TYPE)),
  payload: z.object({
    patientId: idSchema,
    externalId: z.string().optional(),
    proofedIdentityId: idSchema,
    sessionId: idSchema,
    status: z.literal('verified'),
    verifiedAt: instantSchema,
  }),
});
export type IdentityVerifiedEvent = z.output<
  typeof identityVerifiedEventSchema
>;

/**
 * Request header with the id of the active AAL2 session, for queries with
 * purpose ias (docs/interface.md, Requests).
 */
export const AAL2_SESSION_HEADER = 'x-aal2-session';

export const identityEndpoints = {
  createIdentitySession: endpoint(
    'POST /medical/v1/identity/session',
    {
      tag: 'identity',
      reference: 'Operations around E1–E14',
      summary: 'Create identity session',
      description:
        'Starts a session in which the identity partner verifies that a person is this patient. Give `sessionUrl` to that person only; it works for 7 days. The webhook `ias.identity.verified` delivers the `proofedIdentityId`.',
    },
    identitySessionSchema,
    {
      body: identitySessionRequestSchema,
      errors: [404],
    },
  ),
  getIdentitySession: endpoint(
    'GET /medical/v1/identity/session/:id',
    {
      tag: 'identity',
      reference: 'Ours: docs/decisions/0046',
      summary: 'Get identity session',
      description:
        'Status of the verification. Use it if you did not receive the webhook `ias.identity.verified`.',
    },
    identitySessionStateSchema,
  ),
  createAal2Challenge: endpoint(
    'POST /medical/v1/identity/aal2/challenge',
    {
      tag: 'identity',
      reference: 'Operations around E1–E14',
      summary: 'Create AAL2 challenge',
      description:
        'Starts a two-factor challenge for a verified identity. If the person passes it within one hour, a session of 12 hours begins; send its `aal2SessionId` in `x-aal2-session` to "Start network query" with `purposeOfUse=ias`.',
    },
    aal2ChallengeSchema,
    {
      body: aal2ChallengeRequestSchema,
      errors: [404],
    },
  ),
  getAal2Challenge: endpoint(
    'GET /medical/v1/identity/aal2/challenge/:id',
    {
      tag: 'identity',
      reference: 'Ours: docs/decisions/0046',
      summary: 'Get AAL2 challenge',
      description:
        'Status of the challenge and, once it is passed, its session. Use it if the person did not return to `redirectUrl`.',
    },
    aal2ChallengeStateSchema,
    {
      scope: 'write',
    },
  ),
} as const;

/** A request and its response for each of them, for the API reference. */
export const identityExamples = {
  createIdentitySession: {
    body: {
      patientId: '01923e9d-02b4-7f6a-8c11-3f5e9d7a6b21',
      redirectUrl: 'https://app.example.org/verified',
      metadata: { visit: '2026-11-21' },
    },
    answer: {
      sessionId: '01923ea7-2d3e-7f5a-8b6c-7d8e9fa0b1c2',
      sessionUrl: 'https://identity.example.org/session',
      expiresAt: '2026-11-28T15:04:05.000Z',
      status: 'pending',
    },
  },

  getIdentitySession: {
    params: { id: '01923ea7-2d3e-7f5a-8b6c-7d8e9fa0b1c2' },
    answer: {
      sessionId: '01923ea7-2d3e-7f5a-8b6c-7d8e9fa0b1c2',
      patientId: '01923e9d-02b4-7f6a-8c11-3f5e9d7a6b21',
      status: 'pending',
      expiresAt: '2026-11-28T15:04:05.000Z',
    },
  },

  createAal2Challenge: {
    body: {
      proofedIdentityId: '01923ea7-2d3e-7f5a-8b6c-7d8e9fa0b1c2',
      redirectUrl: 'https://app.example.org/verified',
    },
    answer: {
      challengeId: '01923ea7-9a4b-7c6d-8e7f-90a1b2c3d4e5',
      challengeUrl: 'https://identity.example.org/challenge',
      expiresAt: '2026-11-21T16:04:05.000Z',
      method: 'otp',
    },
  },

  getAal2Challenge: {
    params: { id: '01923ea7-9a4b-7c6d-8e7f-90a1b2c3d4e5' },
    answer: {
      challengeId: '01923ea7-9a4b-7c6d-8e7f-90a1b2c3d4e5',
      status: 'pending',
      expiresAt: '2026-11-21T16:04:05.000Z',
    },
  },
} satisfies ExamplesOf<typeof identityEndpoints>;
