import { z } from 'zod';
import { addPatientToCohortsBodySchema, cohortSchema, createCohortBodySchema } from './cohort.ts';
import { endpoint } from './endpoint.ts';
import { facilitySchema } from './facility.ts';
import {
  networkQueryRequestSchema,
  networkQueryStatusSchema,
  purposeOfUseSchema,
  queryStatusSchema,
  timelineEntrySchema,
} from './network-query.ts';
import { createPatientBodySchema, patientSchema, updatePatientBodySchema } from './patient.ts';
import { idSchema, sourceTypeSchema } from './primitives.ts';
import { settingsBodySchema, settingsSchema, webhookStatusSchema } from './settings.ts';

const byId = z.object({ id: idSchema });
const byRequestId = z.object({ requestId: idSchema });
const idempotency = z.object({
  'idempotency-key': z.string().min(1).max(255).optional().meta({
    description: 'The same key and body give the first answer for 24 h; another body 422, still running 409.',
  }),
});
const ifMatch = z.object({
  'if-match': z.string().optional().meta({ description: 'The eTag last seen; 412 when it has changed.' }),
});
const pageMetaSchema = z
  .object({
    itemsOnPage: z.number().int(),
    itemsInTotal: z.number().int(),
    nextPage: z.string().optional(),
    prevPage: z.string().optional(),
  })
  .meta({ id: 'PageMeta' });

/** Every operation this service answers today. Later issues add theirs here and nowhere else. */
export const endpoints = {
  createPatient: endpoint({
    method: 'POST',
    path: '/medical/v1/patient',
    reference: 'E4',
    tag: 'patient',
    summary: 'Create patient',
    description:
      'Answers 201 for a new patient and 200 when the demographics match a known one, which is then updated.',
    query: z.object({ facilityId: idSchema }),
    headers: idempotency,
    body: createPatientBodySchema,
    responses: { 201: patientSchema, 200: patientSchema },
    errors: [404, 409, 422],
  }),
  getPatient: endpoint({
    method: 'GET',
    path: '/medical/v1/patient/:id',
    reference: 'Operations around E1–E14',
    tag: 'patient',
    summary: 'Get patient',
    params: byId,
    responses: { 200: patientSchema },
    errors: [404],
  }),
  updatePatient: endpoint({
    method: 'PUT',
    path: '/medical/v1/patient/:id',
    reference: 'Operations around E1–E14',
    tag: 'patient',
    summary: 'Update patient',
    description: 'Replaces the demographics. Re-ordering the addresses changes the primary address.',
    params: byId,
    query: z.object({ facilityId: idSchema.optional() }),
    headers: ifMatch,
    body: updatePatientBodySchema,
    responses: { 200: patientSchema },
    errors: [404, 409, 412],
  }),
  addPatientToCohorts: endpoint({
    method: 'POST',
    path: '/medical/v1/patient/:id/cohort',
    reference: 'E6',
    tag: 'cohort',
    summary: 'Add patient to cohorts',
    params: byId,
    headers: idempotency,
    body: addPatientToCohortsBodySchema,
    responses: { 200: z.object({ cohorts: z.array(cohortSchema) }) },
    errors: [404],
  }),
  startNetworkQuery: endpoint({
    method: 'POST',
    path: '/medical/v1/network/query',
    reference: 'E2',
    tag: 'network query',
    summary: 'Start network query',
    description: 'Answers 2XX even when sources could not be started: inspect `errors`.',
    query: z.object({ patientId: idSchema, purposeOfUse: purposeOfUseSchema.default('treatment') }),
    headers: idempotency.extend({ 'x-aal2-session': z.string().optional() }),
    body: networkQueryRequestSchema,
    responses: { 200: networkQueryStatusSchema },
    errors: [403, 404, 409, 422],
  }),
  getNetworkQuery: endpoint({
    method: 'GET',
    path: '/medical/v1/network/query/:requestId',
    reference: 'E3',
    tag: 'network query',
    summary: 'Get network query status',
    params: byRequestId,
    responses: { 200: networkQueryStatusSchema },
    errors: [404],
  }),
  listNetworkQueries: endpoint({
    method: 'GET',
    path: '/medical/v1/network/query',
    reference: 'Operations around E1–E14',
    tag: 'network query',
    summary: 'List network queries',
    query: z.object({
      patientId: idSchema.optional(),
      status: queryStatusSchema.optional(),
      source: sourceTypeSchema.optional(),
      startedAfter: z.iso.datetime({ offset: true }).optional(),
      fromItem: z.string().optional(),
      count: z.coerce.number().int().min(1).max(500, { error: 'count is at most 500' }).default(50),
    }),
    responses: { 200: z.object({ queries: z.array(networkQueryStatusSchema), meta: pageMetaSchema }) },
  }),
  getNetworkQueryTimeline: endpoint({
    method: 'GET',
    path: '/medical/v1/network/query/:requestId/timeline',
    reference: 'Operations around E1–E14',
    tag: 'network query',
    summary: 'Timeline of a network query',
    params: byRequestId,
    responses: { 200: z.object({ requestId: idSchema, timeline: z.array(timelineEntrySchema) }) },
    errors: [404],
  }),
  retrySource: endpoint({
    method: 'POST',
    path: '/medical/v1/network/query/:requestId/source/:type/retry',
    reference: 'Operations around E1–E14',
    tag: 'network query',
    summary: 'Try one source again',
    description:
      'While the query runs, or after it ended partial or failed. 409 while that source is still running or has completed.',
    params: byRequestId.extend({ type: sourceTypeSchema }),
    headers: idempotency,
    responses: { 200: networkQueryStatusSchema },
    errors: [404, 409, 503],
  }),
  giveUpSource: endpoint({
    method: 'POST',
    path: '/medical/v1/network/query/:requestId/source/:type/cancel',
    reference: 'Operations around E1–E14',
    tag: 'network query',
    summary: 'Give one source up',
    description: 'The source ends as failed, the others go on. 409 when it is not running.',
    params: byRequestId.extend({ type: sourceTypeSchema }),
    headers: idempotency,
    responses: { 200: networkQueryStatusSchema },
    errors: [404, 409, 503],
  }),
  cancelNetworkQuery: endpoint({
    method: 'POST',
    path: '/medical/v1/network/query/:requestId/cancel',
    reference: 'Operations around E1–E14',
    tag: 'network query',
    summary: 'Cancel a network query',
    description: 'Sources still running end as failed. 409 when the query has ended.',
    params: byRequestId,
    headers: idempotency,
    responses: { 200: networkQueryStatusSchema },
    errors: [404, 409, 503],
  }),
  listCohorts: endpoint({
    method: 'GET',
    path: '/medical/v1/cohort',
    reference: 'E7',
    tag: 'cohort',
    summary: 'List cohorts',
    responses: { 200: z.object({ cohorts: z.array(cohortSchema) }) },
  }),
  createCohort: endpoint({
    method: 'POST',
    path: '/medical/v1/cohort',
    reference: 'Operations around E1–E14',
    tag: 'cohort',
    summary: 'Create cohort',
    headers: idempotency,
    body: createCohortBodySchema,
    responses: { 201: cohortSchema },
    errors: [409, 422],
  }),
  listFacilities: endpoint({
    method: 'GET',
    path: '/medical/v1/facility',
    reference: 'E11',
    tag: 'facility',
    summary: 'List facilities',
    responses: { 200: z.object({ facilities: z.array(facilitySchema) }) },
  }),
  getSettings: endpoint({
    method: 'GET',
    path: '/medical/v1/settings',
    reference: 'Operations around E1–E14',
    tag: 'settings',
    summary: 'Get settings',
    responses: { 200: settingsSchema },
  }),
  updateSettings: endpoint({
    method: 'POST',
    path: '/medical/v1/settings',
    reference: 'Operations around E1–E14',
    tag: 'settings',
    summary: 'Set the webhook destination',
    headers: idempotency,
    body: settingsBodySchema,
    responses: { 200: settingsSchema },
  }),
  getWebhookStatus: endpoint({
    method: 'GET',
    path: '/medical/v1/settings/webhook',
    reference: 'Operations around E1–E14',
    tag: 'settings',
    summary: 'Health of the webhook destination',
    responses: { 200: webhookStatusSchema },
  }),
  retryWebhooks: endpoint({
    method: 'POST',
    path: '/medical/v1/settings/webhook/retry',
    reference: 'Operations around E1–E14',
    tag: 'settings',
    summary: 'Send undelivered webhooks again',
    headers: idempotency,
    responses: { 200: z.object({ message: z.string(), events: z.number().int() }) },
  }),
} as const;

export type EndpointName = keyof typeof endpoints;
