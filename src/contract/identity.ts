import { z } from 'zod';
import { URL_LENGTH_MAX } from './bounds.ts';
import { eventMetaOf } from './event-meta.ts';
import { metadataSchema } from './network-query.ts';
import { idSchema, instantSchema } from './primitives.ts';

/** Individual access (IAS): who verified themselves as a patient, and has shown so again just now. */
const redirectUrlSchema = z
  .string()
  .max(URL_LENGTH_MAX, { error: 'redirectUrl has at most 2,000 characters' })
  .meta({
    format: 'uri',
    description: 'https address at which the person is received afterwards, in their browser.',
  });

export const identitySessionRequestSchema = z
  .object({ patientId: idSchema, redirectUrl: redirectUrlSchema, metadata: metadataSchema.optional() })
  .meta({ id: 'IdentitySessionRequest' });

export const identitySessionSchema = z
  .object({
    sessionId: idSchema,
    sessionUrl: z.string().meta({
      description:
        'Where the person verifies who they are. Then `redirectUrl` is opened with `sessionId` and `status` (verified or failed), and `ias.identity.verified` is sent.',
    }),
    expiresAt: instantSchema,
    status: z.enum(['pending', 'verified', 'failed']),
  })
  .meta({ id: 'IdentitySession' });

/** How far a verification is; past its time a pending one is expired. */
export const VERIFICATION_STATES = ['pending', 'verified', 'failed', 'expired'] as const;

export const identitySessionStateSchema = z
  .object({
    sessionId: idSchema,
    patientId: idSchema,
    status: z.enum(VERIFICATION_STATES),
    expiresAt: instantSchema,
    proofedIdentityId: idSchema.optional().meta({ description: 'Of a verified one.' }),
    verifiedAt: instantSchema.optional(),
    reason: z.string().optional().meta({ description: 'Why it failed.' }),
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
        'Where the person shows two factors. Then `redirectUrl` is opened with `aal2SessionId` and `status=verified`, or with `status=failed`.',
    }),
    expiresAt: instantSchema,
    method: z.string().meta({ description: 'How the identity partner asks, such as `otp` or `passkey`.' }),
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
      .meta({ description: 'Of a passed one, as long as its session is active.' }),
    sessionExpiresAt: instantSchema.optional(),
    reason: z.string().optional().meta({ description: 'Why it failed.' }),
  })
  .meta({ id: 'Aal2ChallengeState' });

export const IDENTITY_VERIFIED_EVENT_TYPE = 'ias.identity.verified';

/** A patient's identity is verified (interface-decisions.md, Webhooks out). */
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

/** Name of the header that carries the active session of an ias query (interface-decisions.md, Requests). */
export const AAL2_SESSION_HEADER = 'x-aal2-session';
