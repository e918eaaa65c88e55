import { z } from 'zod';
import {
  boundedList,
  boundedRecord,
  requiredMembers,
  TEXT_LENGTH_MAX,
  unknownOf,
} from './bounds.ts';
import { type ExamplesOf, endpoint } from './endpoint.ts';
import { pageMetaSchema, pageQuery } from './paging.ts';
import {
  component,
  idSchema,
  instantSchema,
  SOURCE_TYPES,
  type SourceType,
  sourceTypeSchema,
} from './primitives.ts';
import { strictMembers } from './strict-members.ts';

export const METADATA_KEYS_MAX = 50;
export const METADATA_KEY_LENGTH_MAX = 40;
export const METADATA_VALUE_LENGTH_MAX = 500;

/**
 * The caller's own key-value pairs, returned in webhooks (docs/interface.md,
 * Limits).
 */
export const metadataSchema = boundedRecord(
  z.record(
    z
      .string()
      .min(1)
      .max(METADATA_KEY_LENGTH_MAX, {
        error: `a metadata key must have at most ${METADATA_KEY_LENGTH_MAX} characters`,
      }),
    z
      .string({ error: 'a metadata value must be a string' })
      .max(METADATA_VALUE_LENGTH_MAX, {
        error: `a metadata value must have at most ${METADATA_VALUE_LENGTH_MAX} characters`,
      }),
  ),
  METADATA_KEYS_MAX,
  `metadata must have at most ${METADATA_KEYS_MAX} entries`,
).meta({ id: 'Metadata' });
export type Metadata = z.output<typeof metadataSchema>;

/** Metadata in responses and webhooks, without the limits of requests. */
export const responseMetadataSchema = z
  .record(z.string(), z.string())
  .meta({ id: 'AnsweredMetadata' });

const sourcesObjectSchema = z.strictObject(
  {
    hie: strictMembers({ enabled: z.boolean() }).optional(),
    pharmacy: strictMembers({
      enabled: z.boolean().optional(),
      realtime: z.boolean().optional(),
    }).optional(),
    lab: strictMembers({ enabled: z.boolean().optional() }).optional(),
  },
  { error: unknownOf('source', SOURCE_TYPES) },
);

const oneEnabled = {
  anyOf: SOURCE_TYPES.map((source) => ({
    ...requiredMembers(source),
    properties: {
      [source]: {
        ...requiredMembers('enabled'),
        properties: { enabled: { const: true } },
      },
    },
  })),
};

export interface RequestedSource {
  source: SourceType;
  /** Pharmacy only: query the source synchronously. */
  realtime: boolean;
}

/**
 * Converts both forms of `sources` (object, and legacy array) into one list in
 * the order hie, pharmacy, lab.
 */
export const sourcesSchema = z
  .union(
    [
      sourcesObjectSchema.meta(oneEnabled),
      boundedList(z.array(sourceTypeSchema).meta({ minItems: 1 }), 20),
    ],
    {
      error: (issue) =>
        issue.input === undefined ? 'sources is required' : undefined,
    },
  )
  .transform((value): RequestedSource[] => {
    if (Array.isArray(value)) {
      return SOURCE_TYPES.filter((source) => value.includes(source)).map(
        (source) => ({
          source,
          realtime: false,
        }),
      );
    }
    return SOURCE_TYPES.filter((source) => value[source]?.enabled === true).map(
      (source) => ({
        source,
        realtime: source === 'pharmacy' && value.pharmacy?.realtime === true,
      }),
    );
  })
  .refine((sources) => sources.length > 0, {
    error: 'at least one source must be enabled',
  });

/** NetworkQuerySources: the body of E2, and the member `networkQuery` of E4. */
export const networkQueryRequestSchema = component('NetworkQuerySources', {
  sources: sourcesSchema,
  proofedIdentityId: z.string().min(1).max(TEXT_LENGTH_MAX).optional(),
  metadata: metadataSchema.optional(),
});
export type NetworkQueryRequest = z.output<typeof networkQueryRequestSchema>;
export type NetworkQueryRequestInput = z.input<
  typeof networkQueryRequestSchema
>;

export const purposeOfUseSchema = z.enum(['treatment', 'ias']);

/**
 * A running query is `processing` in E2 and E4, and `in-progress` in E3
 * (docs/interface.md, Network query overall status).
 */
export const queryStatusSchema = z.enum([
  'processing',
  'in-progress',
  'completed',
  'partial',
  'failed',
]);
export const sourceStatusSchema = z.enum([
  'processing',
  'in-progress',
  'completed',
  'failed',
]);

/**
 * Why a source is not called at the moment: it failed or refused the last
 * calls, and is called again at `nextTryAt`.
 */
export const sourceWaitSchema = z
  .object({
    reason: z.string(),
    since: instantSchema,
    nextTryAt: instantSchema,
  })
  .meta({ id: 'SourceWait' });

export const sourceEntrySchema = component('Source', {
  type: sourceTypeSchema,
  status: sourceStatusSchema,
  startedAt: instantSchema,
  completedAt: instantSchema.optional(),
  reason: z
    .string()
    .optional()
    .describe('Why the source failed, for a person to read.'),
  waiting: sourceWaitSchema
    .optional()
    .describe(
      'Present while a running source is not called because it failed or refused the last calls: the reason, since when, and when it is called again.',
    ),
  gateways: z
    .object({
      asked: z.number().int(),
      found: z.number().int().describe('They know the patient.'),
      nobody: z.number().int().describe('They do not know the patient.'),
      failed: z.number().int().describe('They could not be asked.'),
      waiting: z.number().int().describe('Their answer is awaited.'),
    })
    .optional()
    .describe(
      'Present in one query’s status where the gateways of a network are asked: how many, and how they stand.',
    ),
});

export const sourceErrorSchema = component('SourceError', {
  source: sourceTypeSchema,
  httpStatus: z.number().int(),
  message: z.string(),
  timestamp: instantSchema,
});
export type SourceError = z.output<typeof sourceErrorSchema>;

export const networkQueryStatusSchema = component('NetworkQueryStatus', {
  requestId: idSchema,
  patientId: idSchema.optional(),
  externalId: z
    .string()
    .optional()
    .describe('The caller’s own id of the patient; absent if it has none.'),
  startedAt: instantSchema,
  status: queryStatusSchema,
  sources: z.array(sourceEntrySchema),
  errors: z.array(sourceErrorSchema).optional(),
});
export type NetworkQueryStatus = z.output<typeof networkQueryStatusSchema>;

/** A query in the list of queries, including the metadata of its request. */
export const listedNetworkQuerySchema = networkQueryStatusSchema
  .extend({ metadata: responseMetadataSchema.optional() })
  .meta({ id: 'ListedNetworkQuery' });

/**
 * One entry of a query's timeline: time, source and attempt, and what happened.
 * No personal data.
 */
export const timelineEntrySchema = component('TimelineEntry', {
  at: instantSchema,
  source: sourceTypeSchema.optional(),
  attempt: z.number().int().optional(),
  kind: z.string(),
  message: z.string(),
});
export type TimelineEntry = z.output<typeof timelineEntrySchema>;

/** A gateway of a network that a query asks, and what it said. */
export const queryGatewaySchema = component('QueryGateway', {
  id: idSchema,
  source: sourceTypeSchema,
  attempt: z.number().int(),
  connection: z
    .string()
    .optional()
    .describe('The name of the connection; absent once that is deleted.'),
  homeCommunity: z.string().describe('An OID.'),
  name: z
    .string()
    .optional()
    .describe('Absent once the connection is deleted.'),
  place: z.number().int().describe('Its place in the order of asking.'),
  because: z
    .enum(['locator', 'known', 'near', 'state'])
    .describe('Why it is asked; as in `explainGateways`.'),
  state: z
    .enum(['open', 'waiting', 'found', 'nobody', 'failed'])
    .describe(
      '`open`: it is not asked yet, is being asked, or is asked again; `waiting`: it has acknowledged the question and answers later; `found`: it knows the patient; `nobody`: it does not; `failed`: it could not be asked.',
    ),
  reason: z.string().optional().describe('Why it failed, or is asked again.'),
  tries: z.number().int().describe('How often it was asked.'),
  nextTryAt: instantSchema.optional(),
  endedAt: instantSchema.optional(),
});
export type QueryGateway = z.output<typeof queryGatewaySchema>;

/** The columns by which a query's gateways are sorted: a number and an id. */
export const QUERY_GATEWAY_SORT = ['place', 'id'] as const;

const count = z.int().nonnegative();
const share = z.number().min(0).max(1).nullable();
const figure = z.number().nonnegative().nullable();

/**
 * How a source, or a connection of the account, did in a period;
 * docs/source-scorecard.md defines each figure.
 */
export const sourceScoreSchema = component('SourceScore', {
  source: sourceTypeSchema,
  connectionId: idSchema
    .nullable()
    .describe('Null: the connection of the deployment.'),
  connection: z.string().nullable(),
  queries: count,
  ended: count,
  cancelled: count.describe('Cancelled on request; these count for nothing.'),
  waiting: count.describe('Open, and their calls to it fail.'),
  answered: count,
  responseRate: share,
  patientsAnswered: count,
  patientsFound: count,
  foundShare: share,
  firstDataSecondsMedian: figure,
  firstDataSecondsP95: figure,
  resources: count,
  documents: count,
  resourcesPerFoundPatient: figure,
  documentsPerFoundPatient: figure,
  results: count,
  codedShare: share,
  measured: count,
  unitShare: share,
});
export type SourceScore = z.output<typeof sourceScoreSchema>;

/**
 * Columns by which the list of queries can be sorted; without `sort`, newest
 * first.
 */
export const NETWORK_QUERY_SORT = ['startedAt', 'requestId'] as const;

export const networkQueryEndpoints = {
  startNetworkQuery: endpoint(
    'POST /medical/v1/network/query',
    {
      tag: 'network query',
      reference: 'E2',
      summary: 'Start network query',
      description:
        'Returns 2XX even if some sources could not be started; check `errors`.',
    },
    networkQueryStatusSchema,
    {
      query: z.object({
        patientId: idSchema,
        purposeOfUse: purposeOfUseSchema.default('treatment'),
      }),
      headers: z.object({
        'x-aal2-session': z.string().max(500).optional(),
        priority: z
          .string()
          .max(TEXT_LENGTH_MAX)
          .optional()
          .describe(
            'RFC 9218 priority. `u=5` to `u=7` marks a background query. It runs after other queries, and starts at a source only while less than 80 % of the source’s limit per minute is used. If no source has capacity, the response reports the query as failed, with `Retry-After`, and the query is not stored.',
          ),
      }),
      body: networkQueryRequestSchema,
      errors: [404],
    },
  ),
  getNetworkQuery: endpoint(
    'GET /medical/v1/network/query/:requestId',
    {
      tag: 'network query',
      reference: 'E3',
      summary: 'Get network query status',
    },
    networkQueryStatusSchema,
  ),
  listNetworkQueries: endpoint(
    'GET /medical/v1/network/query',
    {
      tag: 'network query',
      reference: 'Operations around E1–E14',
      summary: 'List network queries',
    },
    {
      query: pageQuery(NETWORK_QUERY_SORT, {
        patientId: idSchema.optional(),
        status: queryStatusSchema.optional(),
        source: sourceTypeSchema.optional(),
        startedAfter: instantSchema.optional(),
      }),
      responses: {
        200: z.object({
          queries: z.array(listedNetworkQuerySchema),
          meta: pageMetaSchema,
        }),
      },
    },
  ),
  getNetworkQueryTimeline: endpoint(
    'GET /medical/v1/network/query/:requestId/timeline',
    {
      tag: 'network query',
      reference: 'Operations around E1–E14',
      summary: 'Timeline of a network query',
    },
    z.object({ requestId: idSchema, timeline: z.array(timelineEntrySchema) }),
  ),
  listNetworkQueryGateways: endpoint(
    'GET /medical/v1/network/query/:requestId/gateways',
    {
      tag: 'network query',
      reference: 'Operations around E1–E14',
      summary: 'Gateways of a network query',
      description:
        'The gateways of networks that the latest attempt at each source asks, and what each said. None where no source is a network with a directory.',
    },
    {
      query: pageQuery(QUERY_GATEWAY_SORT, {
        state: queryGatewaySchema.shape.state.optional(),
      }),
      responses: {
        200: z.object({
          gateways: z.array(queryGatewaySchema),
          meta: pageMetaSchema,
        }),
      },
    },
  ),
  getSourceScorecard: endpoint(
    'GET /medical/v1/source/scorecard',
    {
      tag: 'network query',
      reference: 'Operations around E1–E14',
      summary: 'Source scorecard',
      description:
        'How each source and connection did with the queries that started from `from` on and before `to` (default: now).',
    },
    {
      query: z
        .object({ from: instantSchema, to: instantSchema.optional() })
        .refine(
          ({ from, to }) =>
            to === undefined || Date.parse(from) < Date.parse(to),
          {
            path: ['to'],
            error: 'must be after from',
          },
        ),
      responses: {
        200: z.object({
          from: instantSchema,
          to: instantSchema,
          sources: z.array(sourceScoreSchema),
        }),
      },
    },
  ),
  retrySource: endpoint(
    'POST /medical/v1/network/query/:requestId/source/:type/retry',
    {
      tag: 'network query',
      reference: 'Operations around E1–E14',
      summary: 'Retry one source',
      description:
        'Queries one source again, during the query or after it ended as partial or failed. 409 if the source is still running or has completed.',
    },
    networkQueryStatusSchema,
    { params: z.object({ requestId: idSchema, type: sourceTypeSchema }) },
  ),
  giveUpSource: endpoint(
    'POST /medical/v1/network/query/:requestId/source/:type/cancel',
    {
      tag: 'network query',
      reference: 'Operations around E1–E14',
      summary: 'Give up one source',
      description:
        'Ends the source as failed; the other sources continue. 409 if the source is not running.',
    },
    networkQueryStatusSchema,
    { params: z.object({ requestId: idSchema, type: sourceTypeSchema }) },
  ),
  cancelNetworkQuery: endpoint(
    'POST /medical/v1/network/query/:requestId/cancel',
    {
      tag: 'network query',
      reference: 'Operations around E1–E14',
      summary: 'Cancel a network query',
      description:
        'Sources still running end as failed. 409 if the query has ended.',
    },
    networkQueryStatusSchema,
  ),
} as const;

/** A request and its response for each of them, for the API reference. */
export const networkQueryExamples = {
  startNetworkQuery: {
    query: { patientId: '01923e9d-02b4-7f6a-8c11-3f5e9d7a6b21' },
    body: {
      sources: {
        hie: { enabled: true },
        pharmacy: { enabled: true, realtime: false },
        lab: { enabled: true },
      },
      metadata: { visit: '2026-11-21' },
    },
    answer: {
      requestId: '01923ea1-8d21-7f43-b5c6-d7e8f9011223',
      patientId: '01923e9d-02b4-7f6a-8c11-3f5e9d7a6b21',
      externalId: 'chart-20481',
      startedAt: '2026-11-21T15:04:05.000Z',
      status: 'processing',
      sources: [
        {
          type: 'hie',
          status: 'processing',
          startedAt: '2026-11-21T15:04:05.000Z',
        },
        {
          type: 'pharmacy',
          status: 'processing',
          startedAt: '2026-11-21T15:04:05.000Z',
        },
        {
          type: 'lab',
          status: 'processing',
          startedAt: '2026-11-21T15:04:05.000Z',
        },
      ],
    },
  },

  getNetworkQuery: {
    params: { requestId: '01923ea1-8d21-7f43-b5c6-d7e8f9011223' },
    answer: {
      requestId: '01923ea1-8d21-7f43-b5c6-d7e8f9011223',
      patientId: '01923e9d-02b4-7f6a-8c11-3f5e9d7a6b21',
      externalId: 'chart-20481',
      startedAt: '2026-11-21T15:04:05.000Z',
      status: 'in-progress',
      sources: [
        {
          type: 'hie',
          status: 'in-progress',
          startedAt: '2026-11-21T15:04:05.000Z',
        },
        {
          type: 'lab',
          status: 'completed',
          startedAt: '2026-11-21T15:04:05.000Z',
          completedAt: '2026-11-21T15:06:41.000Z',
        },
      ],
    },
  },

  listNetworkQueries: {
    query: {
      patientId: '01923e9d-02b4-7f6a-8c11-3f5e9d7a6b21',
      status: 'in-progress',
    },
    answer: {
      queries: [
        {
          requestId: '01923ea1-8d21-7f43-b5c6-d7e8f9011223',
          patientId: '01923e9d-02b4-7f6a-8c11-3f5e9d7a6b21',
          externalId: 'chart-20481',
          startedAt: '2026-11-21T15:04:05.000Z',
          status: 'in-progress',
          sources: [
            {
              type: 'hie',
              status: 'in-progress',
              startedAt: '2026-11-21T15:04:05.000Z',
            },
            {
              type: 'lab',
              status: 'completed',
              startedAt: '2026-11-21T15:04:05.000Z',
              completedAt: '2026-11-21T15:06:41.000Z',
            },
          ],
        },
      ],
      meta: { itemsOnPage: 1, itemsInTotal: 1 },
    },
  },

  listNetworkQueryGateways: {
    params: { requestId: '01923ea1-8d21-7f43-b5c6-d7e8f9011223' },
    query: { state: 'failed' as const },
    answer: {
      gateways: [
        {
          id: '01923ea1-8d30-7c11-9a02-5b6c7d8e9f01',
          source: 'hie' as const,
          attempt: 1,
          connection: 'Carequality',
          homeCommunity: '2.16.840.1.113883.3.9990',
          name: 'Portland Hospitals',
          place: 12,
          because: 'near' as const,
          state: 'failed' as const,
          reason: 'it did not answer within 60 s',
          tries: 1,
          endedAt: '2026-11-21T15:05:07.000Z',
        },
      ],
      meta: { itemsOnPage: 1, itemsInTotal: 1 },
    },
  },

  getSourceScorecard: {
    query: { from: '2026-11-01T00:00:00Z', to: '2026-12-01T00:00:00Z' },
    answer: {
      from: '2026-11-01T00:00:00Z',
      to: '2026-12-01T00:00:00Z',
      sources: [
        {
          source: 'lab',
          connectionId: null,
          connection: null,
          queries: 120,
          ended: 118,
          cancelled: 1,
          waiting: 0,
          answered: 116,
          responseRate: 0.9831,
          patientsAnswered: 110,
          patientsFound: 88,
          foundShare: 0.8,
          firstDataSecondsMedian: 2.41,
          firstDataSecondsP95: 34.7,
          resources: 4136,
          documents: 61,
          resourcesPerFoundPatient: 47,
          documentsPerFoundPatient: 0.69,
          results: 3310,
          codedShare: 0.9713,
          measured: 2904,
          unitShare: 0.944,
        },
      ],
    },
  },

  getNetworkQueryTimeline: {
    params: { requestId: '01923ea1-8d21-7f43-b5c6-d7e8f9011223' },
    answer: {
      requestId: '01923ea1-8d21-7f43-b5c6-d7e8f9011223',
      timeline: [
        {
          at: '2026-11-21T15:04:05.000Z',
          kind: 'query-accepted',
          message: 'Query accepted for hie, pharmacy, lab',
        },
        {
          at: '2026-11-21T15:04:05.000Z',
          source: 'hie',
          attempt: 1,
          kind: 'accepted',
          message: 'The source is working on it',
        },
        {
          at: '2026-11-21T15:06:41.000Z',
          source: 'lab',
          attempt: 1,
          kind: 'completed',
          message:
            'The lab source completed: 57 resources and 1 document collected',
        },
      ],
    },
  },

  retrySource: {
    params: { requestId: '01923ea1-8d21-7f43-b5c6-d7e8f9011223', type: 'hie' },
    answer: {
      requestId: '01923ea1-8d21-7f43-b5c6-d7e8f9011223',
      patientId: '01923e9d-02b4-7f6a-8c11-3f5e9d7a6b21',
      externalId: 'chart-20481',
      startedAt: '2026-11-21T15:04:05.000Z',
      status: 'in-progress',
      sources: [
        {
          type: 'hie',
          status: 'failed',
          startedAt: '2026-11-21T15:04:05.000Z',
          completedAt: '2026-11-21T15:06:41.000Z',
        },
        {
          type: 'hie',
          status: 'in-progress',
          startedAt: '2026-11-21T15:06:41.000Z',
        },
        {
          type: 'lab',
          status: 'completed',
          startedAt: '2026-11-21T15:04:05.000Z',
          completedAt: '2026-11-21T15:06:41.000Z',
        },
      ],
    },
  },

  giveUpSource: {
    params: { requestId: '01923ea1-8d21-7f43-b5c6-d7e8f9011223', type: 'hie' },
    answer: {
      requestId: '01923ea1-8d21-7f43-b5c6-d7e8f9011223',
      patientId: '01923e9d-02b4-7f6a-8c11-3f5e9d7a6b21',
      externalId: 'chart-20481',
      startedAt: '2026-11-21T15:04:05.000Z',
      status: 'completed',
      sources: [
        {
          type: 'hie',
          status: 'failed',
          startedAt: '2026-11-21T15:04:05.000Z',
          completedAt: '2026-11-21T15:06:41.000Z',
        },
        {
          type: 'lab',
          status: 'completed',
          startedAt: '2026-11-21T15:04:05.000Z',
          completedAt: '2026-11-21T15:06:41.000Z',
        },
      ],
    },
  },

  cancelNetworkQuery: {
    params: { requestId: '01923ea1-8d21-7f43-b5c6-d7e8f9011223' },
    answer: {
      requestId: '01923ea1-8d21-7f43-b5c6-d7e8f9011223',
      patientId: '01923e9d-02b4-7f6a-8c11-3f5e9d7a6b21',
      externalId: 'chart-20481',
      startedAt: '2026-11-21T15:04:05.000Z',
      status: 'failed',
      sources: [
        {
          type: 'hie',
          status: 'failed',
          startedAt: '2026-11-21T15:04:05.000Z',
          completedAt: '2026-11-21T15:06:41.000Z',
        },
        {
          type: 'lab',
          status: 'failed',
          startedAt: '2026-11-21T15:04:05.000Z',
          completedAt: '2026-11-21T15:06:41.000Z',
        },
      ],
    },
  },
} satisfies ExamplesOf<typeof networkQueryEndpoints>;
