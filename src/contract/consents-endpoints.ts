import { z } from 'zod';
import { consentSchema, recordConsentBodySchema } from './consents.ts';
import { endpoint } from './endpoint.ts';
import { byId, idempotency } from './endpoint-parts.ts';
import { idSchema } from './primitives.ts';

const reference = 'Consents';

/** Consents of a patient, as FHIR resources. */
export const consentEndpoints = {
  recordConsent: endpoint({
    method: 'POST',
    path: '/medical/v1/patient/:id/consent',
    reference,
    tag: 'patient',
    summary: 'Record a consent',
    description:
      'Records a FHIR R4 Consent (IHE PCF, Basic Consent). A denial applies at once: no query asks the sources in question, and the results of running queries are not collected. A permit is recorded as evidence; it lifts no denial.',
    params: byId,
    headers: idempotency,
    body: recordConsentBodySchema,
    responses: { 201: consentSchema },
    errors: [404],
  }),
  listConsents: endpoint({
    method: 'GET',
    path: '/medical/v1/patient/:id/consent',
    reference,
    tag: 'patient',
    summary: 'List the consents of a patient',
    description: 'Newest first, including those that have ended; at most 500.',
    params: byId,
    responses: { 200: z.object({ consents: z.array(consentSchema) }) },
    errors: [404],
  }),
  endConsent: endpoint({
    method: 'POST',
    path: '/medical/v1/patient/:id/consent/:consentId/end',
    reference,
    tag: 'patient',
    summary: 'End a consent',
    description:
      'The consent no longer applies and stays in the history. 409 if it was made by `hieOptOut`, which ends it.',
    params: z.object({ id: idSchema, consentId: idSchema }),
    headers: idempotency,
    responses: { 200: consentSchema },
    errors: [404],
  }),
} as const;
