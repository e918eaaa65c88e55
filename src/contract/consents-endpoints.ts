import { z } from 'zod';
import { consentSchema, recordConsentBodySchema } from './consents.ts';
import { endpoint } from './endpoint.ts';
import { byId } from './endpoint-parts.ts';
import { idSchema } from './primitives.ts';

/** Consents of a patient, as FHIR resources. */
export const consentEndpoints = {
  recordConsent: endpoint('POST /medical/v1/patient/:id/consent', {
    params: byId,
    body: recordConsentBodySchema,
    responses: { 201: consentSchema },
    errors: [404],
  }),
  listConsents: endpoint('GET /medical/v1/patient/:id/consent', {
    params: byId,
    responses: { 200: z.object({ consents: z.array(consentSchema) }) },
    errors: [404],
  }),
  endConsent: endpoint('POST /medical/v1/patient/:id/consent/:consentId/end', {
    params: z.object({ id: idSchema, consentId: idSchema }),
    responses: { 200: consentSchema },
    errors: [404],
  }),
} as const;
