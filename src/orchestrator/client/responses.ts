import { z } from 'zod';
import type { EndpointResponse } from '../../contract/endpoint.ts';
import { type EndpointName, endpoints } from '../../contract/endpoints.ts';
import { sourceTypeSchema } from '../../contract/primitives.ts';

/**
 * The parts of a response that we read. Another service may serve the same
 * interface, so only what docs/interface.md promises is required: ids may be
 * any string, unknown members are ignored, and unknown states are accepted.
 */
const id = z.string().min(1).max(500);

/**
 * A list about sources, without entries of a type that the interface does not
 * have: callers could not name it.
 */
const aboutSources = <S extends z.ZodType>(
  member: 'type' | 'source',
  entry: S,
) =>
  z.preprocess(
    (list) =>
      Array.isArray(list)
        ? list.filter((each) => !isOfUnknownType(each?.[member]))
        : list,
    z.array(entry),
  );
const isOfUnknownType = (type: unknown): boolean =>
  typeof type === 'string' && !sourceTypeSchema.safeParse(type).success;

export const queryResponseSchema = z.object({
  requestId: id,
  status: z.string().max(50),
  sources: aboutSources(
    'type',
    z.object({
      type: sourceTypeSchema,
      status: z.string().max(50),
      startedAt: z.string().max(50),
      completedAt: z.string().max(50).optional(),
      gateways: z
        .object({
          asked: z.number(),
          found: z.number(),
          nobody: z.number(),
          failed: z.number(),
          waiting: z.number(),
        })
        .optional(),
    }),
  ),
  errors: aboutSources(
    'source',
    z
      .object({
        source: sourceTypeSchema,
        httpStatus: z.number().int(),
        message: z.string().catch(''),
      })
      .transform(({ message, ...error }) => ({
        ...error,
        // A consent or opt-out of this patient; access that is not enabled
        // concerns the account.
        ...(/\bpatient\b/i.test(message) && { isOfPatient: true }),
      })),
  )
    .nullish()
    .transform((errors) => errors ?? []),
});
/**
 * Keeps only facts of `errors`: the message is free text of another service.
 */
export type QueryResponse = z.output<typeof queryResponseSchema>;

const names = z.union([z.array(z.string()), z.string()]);
const address = z.looseObject({});
const patientAnswerSchema = z.object({
  id,
  eTag: z.string().optional(),
  externalId: z.string().nullish(),
  firstName: names,
  lastName: names,
  dob: z.string(),
  genderAtBirth: z.string(),
  personalIdentifiers: z.array(z.looseObject({})).nullish(),
  address: z.union([z.array(address), address]),
  contact: z.union([z.array(z.looseObject({})), z.looseObject({})]).nullish(),
  facilityIds: z.array(z.string()),
  createdAt: z.string().nullish(),
  status: z.looseObject({}).nullish(),
  networkQuery: queryResponseSchema.nullish(),
});

const pageMetaAnswer = z.object({
  itemsInTotal: z.number().nullish(),
  itemsInTotalIsMinimum: z.boolean().nullish(),
  nextPage: z.string().max(4_000).nullish(),
});

/**
 * A page of patients, with the few members that callers of lists read.
 * `nextPage` is the address of the next page.
 */
const patientPageSchema = z.object({
  patients: z.array(
    z.object({
      id,
      eTag: z.string().nullish(),
      externalId: z.string().nullish(),
      firstName: names.nullish(),
      lastName: names.nullish(),
      dob: z.string().nullish(),
      genderAtBirth: z.string().nullish(),
      createdAt: z.string().nullish(),
      status: z.object({ hieOptOut: z.boolean().nullish() }).nullish(),
    }),
  ),
  meta: pageMetaAnswer,
});

const cohortSummarySchema = z.object({
  id,
  eTag: z.string().optional(),
  name: z.string(),
  size: z.number().optional(),
  purposeOfUse: z.string().max(50).optional(),
  settings: z.looseObject({}).nullish(),
});
export type CohortSummary = z.output<typeof cohortSummarySchema>;

const facilityAnswerSchema = z.object({
  id,
  name: z.string(),
  npi: z.string().optional(),
  oid: z.string().optional(),
  active: z.boolean().optional(),
});

/** The response to E5: the status `waiting` and the upload URL. */
const bulkStartSchema = z.object({
  requestId: id,
  status: z.string().max(50),
  uploadUrl: z.string().max(4_000),
});

const count = z.number().int().min(0);
const bulkStatusSchema = z.object({
  requestId: id,
  status: z.string().max(50),
  paused: z.boolean().optional(),
  counts: z
    .object({
      rows: count,
      handled: count,
      created: count,
      updated: count,
      failed: count,
    })
    .partial()
    .optional(),
  rowsPerSecond: z.number().optional(),
  secondsLeft: z.number().optional(),
  result: z.string().max(4_000).optional(),
  reason: z.string().max(1_000).optional(),
});
export type BulkStatusResponse = z.output<typeof bulkStatusSchema>;

/** The members of listed queries that monitoring and the starter read. */
const queryListSchema = z.object({
  queries: z.array(
    z.object({
      requestId: id,
      patientId: id.nullish(),
      status: z.string().max(50),
      startedAt: z.string().max(50),
      sources: aboutSources(
        'type',
        z.object({ type: sourceTypeSchema, status: z.string().max(50) }),
      ).nullish(),
      metadata: z.record(z.string(), z.unknown()).nullish(),
    }),
  ),
  meta: pageMetaAnswer.nullish(),
});

/** A list of documents with `output=dto`. */
const documentListSchema = z.object({
  documents: z.array(
    z.object({
      id,
      fileName: z.string().min(1).max(500),
      mimeType: z.string().max(200).nullish(),
      size: z.number().nullish(),
      indexed: z.string().max(50).nullish(),
      description: z.string().max(4_000).nullish(),
    }),
  ),
});

/**
 * Operations that other services may serve too. All others are read by the
 * schemas of the contract.
 */
const tolerantAnswers = {
  createPatient: patientAnswerSchema,
  getPatient: patientAnswerSchema,
  updatePatient: patientAnswerSchema,
  startNetworkQuery: queryResponseSchema,
  getNetworkQuery: queryResponseSchema,
  listNetworkQueries: queryListSchema,
  retrySource: queryResponseSchema,
  giveUpSource: queryResponseSchema,
  cancelNetworkQuery: queryResponseSchema,
  listPatients: patientPageSchema,
  setHieOptOut: z.object({ id }),
  setTreatmentRelationship: z.object({ id }),
  startBulkCreate: bulkStartSchema,
  getBulkCreate: bulkStatusSchema,
  listDocuments: documentListSchema,
  pauseBulkCreate: bulkStatusSchema,
  resumeBulkCreate: bulkStatusSchema,
  cancelBulkCreate: bulkStatusSchema,
  addPatientToCohorts: z.object({ cohorts: z.array(cohortSummarySchema) }),
  getPatientCohorts: z.object({ cohorts: z.array(cohortSummarySchema) }),
  listCohorts: z.object({ cohorts: z.array(cohortSummarySchema) }),
  createCohort: cohortSummarySchema,
  getCohort: cohortSummarySchema,
  updateCohort: cohortSummarySchema,
  listCohortPatients: patientPageSchema,
  addPatientsToCohort: z.object({
    message: z.string().max(1_000).nullish(),
    cohort: cohortSummarySchema,
    skipped: z.object({ total: z.number(), patientIds: z.array(id) }).nullish(),
  }),
  removePatientsFromCohort: z.object({
    message: z.string().max(1_000).nullish(),
    cohort: cohortSummarySchema,
  }),
  listFacilities: z.object({ facilities: z.array(facilityAnswerSchema) }),
} as const satisfies Partial<Record<EndpointName, z.ZodType>>;

export type ResponseOf<N extends EndpointName> =
  N extends keyof typeof tolerantAnswers
    ? z.output<(typeof tolerantAnswers)[N]>
    : EndpointResponse<(typeof endpoints)[N]>;

/**
 * The schema for a response; `null` when the operation has no response body.
 */
export function responseSchema(
  name: EndpointName,
  status: number,
): z.ZodType | null {
  const tolerant: Partial<Record<EndpointName, z.ZodType>> = tolerantAnswers;
  const responses: Readonly<Record<number, z.ZodType | null>> =
    endpoints[name].responses;
  // Another service may use a different 2xx status than ours; docs/interface.md
  // specifies few of them.
  return (
    tolerant[name] ?? responses[status] ?? Object.values(responses)[0] ?? null
  );
}
