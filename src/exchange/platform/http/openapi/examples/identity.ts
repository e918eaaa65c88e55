import type { embedTokenEndpoints } from '../../../../../contract/embed-endpoints.ts';
import type { identityEndpoints } from '../../../../../contract/identity-endpoints.ts';
import { IDS, type OperationExamples } from './example.ts';

const redirectUrl = 'https://app.example.org/verified';
const SESSION_ENDS_AT = '2026-11-28T15:04:05.000Z';
const CHALLENGE_ENDS_AT = '2026-11-21T16:04:05.000Z';

export const identityExamples: OperationExamples<keyof typeof identityEndpoints> = {
  createIdentitySession: {
    body: { patientId: IDS.patient, redirectUrl, metadata: { visit: '2026-11-21' } },
    answer: {
      sessionId: IDS.identity,
      sessionUrl: 'https://identity.example.org/session',
      expiresAt: SESSION_ENDS_AT,
      status: 'pending',
    },
  },
  getIdentitySession: {
    params: { id: IDS.identity },
    answer: {
      sessionId: IDS.identity,
      patientId: IDS.patient,
      status: 'pending',
      expiresAt: SESSION_ENDS_AT,
    },
  },
  createAal2Challenge: {
    body: { proofedIdentityId: IDS.identity, redirectUrl },
    answer: {
      challengeId: IDS.challenge,
      challengeUrl: 'https://identity.example.org/challenge',
      expiresAt: CHALLENGE_ENDS_AT,
      method: 'otp',
    },
  },
  getAal2Challenge: {
    params: { id: IDS.challenge },
    answer: { challengeId: IDS.challenge, status: 'pending', expiresAt: CHALLENGE_ENDS_AT },
  },
};

export const embedTokenExamples: OperationExamples<keyof typeof embedTokenEndpoints> = {
  createEmbedToken: {
    body: { expirationInSeconds: 3600 },
    answer: { token: 'eyJhbGciOiJIUzI1NiJ9.eyJhdWQiOiJlbWJlZCJ9.FElFSo2vjfP0h8wKZEbIAHUWj65' },
  },
};
