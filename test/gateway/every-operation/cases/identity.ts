import { v7 as uuidv7 } from 'uuid';
import type { identityEndpoints } from '../../../../src/contract/identity.ts';
import {
  badBody,
  NO_ID,
  type OperationCases,
  type Refused,
} from '../operation-cases.ts';
import type { World } from '../world.ts';

const redirectUrl = 'https://app.example.org/back?tab=records';

/** Of a new patient who has been verified. */
export async function verifiedIdentity({
  make,
  inAccount,
}: World): Promise<string> {
  const patient_id = await make.patient();
  const session_id = uuidv7();
  const id = uuidv7();
  const now = new Date();
  await inAccount(async ({ db, accountId: account_id }) => {
    const whose = { account_id, patient_id };
    await db
      .insertInto('identity_session')
      .values({
        ...whose,
        id: session_id,
        redirect_url: redirectUrl,
        expires_at: now,
        status: 'verified',
      })
      .execute();
    await db
      .insertInto('proofed_identity')
      .values({ ...whose, id, session_id, subject: id, verified_at: now })
      .execute();
  });
  return id;
}

const REDIRECTS: Refused[] = [
  badBody({ redirectUrl: undefined }, 'redirectUrl', 'is required'),
  badBody({ redirectUrl: 'app.example.org' }, 'redirectUrl', ''),
  badBody({ redirectUrl: 'http://app.example.org/' }, 'redirectUrl', ''),
  badBody({ redirectUrl: 'javascript:alert(1)' }, 'redirectUrl', ''),
  badBody(
    { redirectUrl: `https://a.example.org/${'x'.repeat(2000)}` },
    'redirectUrl',
    'at most 2,000 characters',
  ),
];

export const identityCases: Record<
  keyof typeof identityEndpoints,
  OperationCases
> = {
  createIdentitySession: {
    good: async ({ make }) => ({
      body: {
        patientId: await make.patient(),
        redirectUrl,
        metadata: { a: 'b' },
      },
    }),
    refused: [
      ...REDIRECTS,
      badBody({ patientId: 'x' }, 'patientId', 'expected a UUID'),
      badBody({ metadata: { a: 1 } }, 'metadata.a', 'must be a string'),
      {
        what: 'an unknown patient',
        status: 404,
        send: () => ({ body: { patientId: NO_ID, redirectUrl } }),
        message: 'Patient not found',
      },
    ],
  },
  getIdentitySession: {
    good: async ({ make }) => {
      const asked = { patientId: await make.patient(), redirectUrl };
      return {
        params: {
          id: (await make.call('POST', 'identity/session', asked)).sessionId,
        },
      };
    },
  },
  createAal2Challenge: {
    good: async (world) => ({
      body: { proofedIdentityId: await verifiedIdentity(world), redirectUrl },
    }),
    refused: [
      ...REDIRECTS,
      badBody(
        { proofedIdentityId: 'x' },
        'proofedIdentityId',
        'expected a UUID',
      ),
      {
        what: 'an unknown identity',
        status: 404,
        send: () => ({ body: { proofedIdentityId: NO_ID, redirectUrl } }),
        message: 'Verified identity not found',
      },
    ],
  },
  getAal2Challenge: {
    good: async (world) => {
      const asked = {
        proofedIdentityId: await verifiedIdentity(world),
        redirectUrl,
      };
      const { challengeId } = await world.make.call(
        'POST',
        'identity/aal2/challenge',
        asked,
      );
      return { params: { id: challengeId } };
    },
  },
};
