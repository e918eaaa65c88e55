import { z } from 'zod';
import { URL_LENGTH_MAX } from './bounds.ts';
import { endpoint } from './endpoint.ts';
import { eventMetaOf } from './event-meta.ts';
import { metadataSchema } from './network-query.ts';
import { idSchema, instantSchema } from './primitives.ts';

/** Individual access services (IAS): identity verification and AAL2 challenges (docs/interface.md, Individual access). */
const redirectUrlSchema = z
  .string()
  .max(URL_LENGTH_MAX, { error: 'redirectUrl must have at most 2,000 characters' })
  .meta({
    format: 'uri',
    description: 'https URL to which the person’s browser is redirected afterwards.',
  });

export const identitySessionRequestSchema = z
  .object({ patientId: idSchema, redirectUrl: redirectUrlSchema, metadata: metadataSchema.optional() })
  .meta({ id: 'IdentitySessionRequest' });

export const identitySessionSchema = z
  .object({
    sessionId: idSchema,
    sessionUrl: z.string().meta({
      description:
        'Page on which the person verifies their identity. Afterwards the browser is redirected to `redirectUrl` with `sessionId` and `status` (verified or failed). If verified, the webhook `ias.identity.verified` is sent.',
    }),
    expiresAt: instantSchema,
    status: z.enum(['pending', 'verified', 'failed']),
  })
  .meta({ id: 'IdentitySession' });

/** States of a verification or challenge; a pending one becomes expired when its time is over. */
export const VERIFICATION_STATES = ['pending', 'verified', 'failed', 'expired'] as const;

export const identitySessionStateSchema = z
  .object({
    sessionId: idSchema,
    patientId: idSchema,
    status: z.enum(VERIFICATION_STATES),
    expiresAt: instantSchema,
    proofedIdentityId: idSchema.optional().meta({ description: 'Present if the status is verified.' }),
    verifiedAt: instantSchema.optional(),
    reason: z.string().optional().meta({ description: 'Why the verification failed.' }),
  })
  .meta({ id: 'IdentitySessionState' });

export const aal2ChallengeRequestSchema = z
  .object({ proofedIdentityId: idSchema, redirectUrl: redirectUrlSchema })
  .meta({ id: 'Aal2ChallengeRequest' });

export const aal2ChallengeSchema = z
  .object({
    challengeId: idSchema,
    challengeUrl: z.string().meta({
      description:
        'Page on which the person authenticates with two factors. Afterwards the browser is redirected to `redirectUrl` with `aal2SessionId` and `status=verified`, or with `status=failed`.',
    }),
    expiresAt: instantSchema,
    method: z
      .string()
      .meta({ description: 'Authentication method of the identity partner, such as `otp` or `passkey`.' }),
  })
  .meta({ id: 'Aal2Challenge' });

export const aal2ChallengeStateSchema = z
  .object({
    challengeId: idSchema,
    status: z.enum(VERIFICATION_STATES),
    expiresAt: instantSchema,
    aal2SessionId: z
      .string()
      .optional()
      .meta({ description: 'Present if the challenge was passed and its session is still active.' }),
    sessionExpiresAt: instantSchema.optional(),
    reason: z.string().optional().meta({ description: 'Why the challenge failed.' }),
  })
  .meta({ id: 'Aal2ChallengeState' });

export const IDENTITY_VERIFIED_EVENT_TYPE = 'ias.identity.verified';

/** Sent when a patient's identity has been verified (docs/interface.md, Events). */
export const identityVerifiedEventSchema = z
  .object({
    meta: eventMetaOf(z.literal(IDENTITY_VERIFIED_EVENT_TYPE)),
    payload: z.object({
      patientId: idSchema,
      externalId: z.string().optional(),
      proofedIdentityId: idSchema,
      sessionId: idSchema,
      status: z.literal('verified'),
      verifiedAt: instantSchema,
    }),
  })
  .meta({ id: 'IdentityVerifiedEvent' });
export type IdentityVerifiedEvent = z.output<typeof identityVerifiedEventSchema>;

/** Request header with the id of the active AAL2 session, for queries with purpose ias (docs/interface.md, Requests). */
export const AAL2_SESSION_HEADER = 'x-aal2-session';

export const identityEndpoints = {
  createIdentitySession: endpoint('POST /medical/v1/identity/session', {
    body: identitySessionRequestSchema,
    responses: { 200: identitySessionSchema },
    errors: [404],
  }),
  getIdentitySession: endpoint('GET /medical/v1/identity/session/:id', {
    responses: { 200: identitySessionStateSchema },
  }),
  createAal2Challenge: endpoint('POST /medical/v1/identity/aal2/challenge', {
    body: aal2ChallengeRequestSchema,
    responses: { 200: aal2ChallengeSchema },
    errors: [404],
  }),
  getAal2Challenge: endpoint('GET /medical/v1/identity/aal2/challenge/:id', {
    scope: 'write',
    responses: { 200: aal2ChallengeStateSchema },
  }),
} as const;
