import { z } from 'zod';
import { boundedList, quoted } from './bounds.ts';
import { type ExamplesOf, endpoint } from './endpoint.ts';
import { eventMetaOf } from './event-meta.ts';
import { metadataSchema } from './network-query.ts';
import { component, idSchema } from './primitives.ts';
import { recordConformanceSchema } from './record-conformance.ts';
import { recordOriginsSchema, splitDeliverySchema } from './record-origins.ts';

/** docs/interface.md, ConsolidatedQuery. */
export const CONVERSION_TYPES = ['json', 'html', 'pdf'] as const;
export type ConversionType = (typeof CONVERSION_TYPES)[number];

export const CONSOLIDATED_STATUSES = [
  'processing',
  'completed',
  'failed',
] as const;
export type ConsolidatedStatus = (typeof CONSOLIDATED_STATUSES)[number];

/** FHIR R4 resource types that a consolidated record may contain. */
export const RECORD_TYPES: readonly string[] =
  'AdverseEvent AllergyIntolerance Appointment BodyStructure CarePlan CareTeam Claim ClinicalImpression Communication CommunicationRequest Composition Condition Consent Coverage DetectedIssue Device DeviceRequest DeviceUseStatement DiagnosticReport DocumentReference Encounter Endpoint EpisodeOfCare ExplanationOfBenefit FamilyMemberHistory Flag Goal HealthcareService ImagingStudy Immunization ImmunizationEvaluation ImmunizationRecommendation List Location Media Medication MedicationAdministration MedicationDispense MedicationRequest MedicationStatement NutritionOrder Observation Organization Patient Practitioner PractitionerRole Procedure Provenance QuestionnaireResponse RelatedPerson RiskAssessment ServiceRequest Specimen Substance SupplyDelivery SupplyRequest Task VisionPrescription'.split(
    ' ',
  );
const recordTypes: ReadonlySet<string> = new Set(RECORD_TYPES);

/** One type of the comma-separated list, as a regular expression. */
const A_TYPE = `\\s*(${RECORD_TYPES.join('|')})\\s*`;
const resourcesText = z
  .string()
  .max(2_000)
  .meta({ pattern: `^${A_TYPE}(,${A_TYPE})*$` });
/** More than there are types, because a caller may repeat one. */
const RESOURCES_MAX = 200;

const resourcesSchema = z
  .union([resourcesText, boundedList(z.array(resourcesText), 100)])
  .transform((value) =>
    [value]
      .flat()
      .flatMap((text) => text.split(',').map((name) => name.trim())),
  )
  .superRefine((names, context) => {
    const refuse = (message: string) =>
      context.addIssue({ code: 'custom', message });
    if (names.length > RESOURCES_MAX)
      return refuse(`must name at most ${RESOURCES_MAX} types`);
    // Only the first unknown type is reported, because the message lists all
    // valid types.
    const unknown = names.find((name) => !recordTypes.has(name));
    if (unknown === undefined) return;
    const what =
      unknown === ''
        ? 'contains an empty name'
        : `${quoted(unknown)} is not a supported resource type`;
    refuse(`${what}; supported types are ${RECORD_TYPES.join(', ')}`);
  })
  .transform((names) => [...new Set(names)].sort())
  .meta({
    description: 'FHIR resource types, separated by commas. Default: all.',
    example: 'Condition,Observation',
  });

const dateSchema = (description: string) =>
  z.iso
    .date({
      error: ({ input }) =>
        `${quoted(input ?? '')} is not a date in the format YYYY-MM-DD`,
    })
    .refine((date) => date >= '0001-01-01', { error: 'is before the year 1' })
    .optional()
    .meta({ description });

/**
 * Query parameters that select a part of a record; shared by all operations on
 * it.
 */
export const recordFilter = {
  resources: resourcesSchema.optional(),
  dateFrom: dateSchema(
    'First day to include. Resources without a date are always included.',
  ),
  dateTo: dateSchema('Last day to include.'),
};

/**
 * Query parameters: `recordFilter` and the given members, with
 * `checkDateOrder`.
 */
export const recordQuery = <S extends z.ZodRawShape>(shape: S) =>
  z.object({ ...recordFilter, ...shape }).superRefine(checkDateOrder);

/**
 * Refinement of a schema with `dateFrom` and `dateTo`: adds an issue if
 * `dateTo` is before `dateFrom`.
 */
export function checkDateOrder(query: object, context: z.RefinementCtx): void {
  const { dateFrom, dateTo } = query as { dateFrom?: string; dateTo?: string };
  if (dateFrom === undefined || dateTo === undefined || dateFrom <= dateTo)
    return;
  context.addIssue({
    code: 'custom',
    path: ['dateTo'],
    message: `is ${dateTo}, which is before dateFrom (${dateFrom}); use the same day or a later one`,
  });
}

export const consolidatedQuerySchema = component('ConsolidatedQuery', {
  requestId: idSchema,
  status: z.enum(CONSOLIDATED_STATUSES),
  conversionType: z.enum(CONVERSION_TYPES),
  startedAt: z.string().optional().describe('`YYYY-MM-DDTHH:MM:SSZ`'),
  resources: z.array(z.string()).optional(),
  dateFrom: z.string().optional(),
  dateTo: z.string().optional(),
  message: z.string().optional().describe('Why the query failed.'),
});
export type ConsolidatedQuery = z.output<typeof consolidatedQuerySchema>;

/**
 * Response of "get one consolidated query": includes the link, so that a caller
 * can do without the webhook (decision 31).
 */
export const oneConsolidatedQuerySchema = consolidatedQuerySchema
  .extend({
    result: z
      .string()
      .optional()
      .describe(
        'Link to the result of a completed query, valid for 72 hours. Each request returns a new link.',
      ),
  })
  .meta({ id: 'OneConsolidatedQuery' });

/** The body of "start consolidated query" is optional. */
export const startConsolidatedBodySchema = z
  .object({ metadata: metadataSchema.optional() })
  .nullish()
  .transform((body) => body ?? {});

/** A FHIR Bundle; its entries are not validated here. */
export const fhirBundleSchema = z
  .looseObject({
    resourceType: z.literal('Bundle'),
    type: z.string(),
    entry: z.array(z.looseObject({})).optional(),
  })
  .meta({ id: 'FhirBundle', description: 'A FHIR R4 Bundle.' });

export const CONSOLIDATED_DATA_EVENT_TYPE = 'medical.consolidated-data';

/**
 * Sent when a consolidated query has completed or failed (docs/interface.md,
 * Events).
 */
export const consolidatedDataEventSchema = component('ConsolidatedDataEvent', {
  meta: eventMetaOf(z.literal(CONSOLIDATED_DATA_EVENT_TYPE)),
  patients: z.array(
    z.object({
      patientId: idSchema,
      externalId: z.string().optional(),
      additionalIds: z.record(z.string(), z.array(z.string())).optional(),
      status: z.enum(['completed', 'failed']),
      bundle: fhirBundleSchema
        .optional()
        .describe(
          'Contains one DocumentReference; its attachment is the link to the result.',
        ),
      filters: z.record(z.string(), z.string()).optional(),
    }),
  ),
});
export type ConsolidatedDataEvent = z.output<
  typeof consolidatedDataEventSchema
>;

export const consolidatedEndpoints = {
  startConsolidatedQuery: endpoint(
    'POST /medical/v1/patient/:id/consolidated/query',
    {
      tag: 'consolidated data',
      reference: 'Operations around E1–E14',
      summary: 'Start consolidated query',
      description:
        "Assembles the patient's consolidated record as FHIR or as a medical record summary (html, pdf), and sends a link to it with the webhook `medical.consolidated-data`. If a query with the same parameters is in progress, returns that query. It reads only data already collected and queries no source.",
    },
    consolidatedQuerySchema,
    {
      query: recordQuery({
        conversionType: z.enum(CONVERSION_TYPES).default('json'),
      }),
      body: startConsolidatedBodySchema,
    },
  ),
  listConsolidatedQueries: endpoint(
    'GET /medical/v1/patient/:id/consolidated/query',
    {
      tag: 'consolidated data',
      reference: 'E13',
      summary: 'Get consolidated data query status',
      description: 'The queries in progress, newest first.',
    },
    z.object({
      status: z
        .enum(CONSOLIDATED_STATUSES)
        .nullable()
        .describe(
          'Status of the latest query, in progress or not; null if there has been none.',
        ),
      message: z.string(),
      queries: z.array(consolidatedQuerySchema),
    }),
  ),
  getConsolidatedQuery: endpoint(
    'GET /medical/v1/patient/:id/consolidated/query/:requestId',
    {
      tag: 'consolidated data',
      reference: 'Operations around E1–E14',
      summary: 'Get one consolidated query',
      description:
        'The status of the query and, once it is completed, a link to its result, like the one in the webhook `medical.consolidated-data`. Results are kept for one week.',
    },
    oneConsolidatedQuerySchema,
  ),
  getConsolidated: endpoint(
    'GET /medical/v1/patient/:id/consolidated',
    {
      tag: 'consolidated data',
      reference: 'Operations around E1–E14',
      summary: 'Get consolidated data',
      description:
        "The patient's current consolidated record as a FHIR searchset Bundle, streamed. Each resource is followed by a Provenance that states its origins.",
    },
    fhirBundleSchema,
    {
      query: recordQuery({}),
      mediaType: 'application/fhir+json',
    },
  ),
  countConsolidated: endpoint(
    'GET /medical/v1/patient/:id/consolidated/count',
    {
      tag: 'consolidated data',
      reference: 'Operations around E1–E14',
      summary: 'Count consolidated data',
      description:
        'The number of resources of each type that "Get consolidated data" would return, not counting Provenance.',
    },
    {
      query: recordQuery({}),
      responses: {
        200: z.object({
          total: z.number().int(),
          resources: z.record(z.string(), z.number().int()),
          filter: z.object({
            resources: z
              .string()
              .describe('`all`, or the requested resource types.'),
            dateFrom: z.string().optional(),
            dateTo: z.string().optional(),
          }),
        }),
      },
    },
  ),
  getRecordOrigins: endpoint(
    'GET /medical/v1/patient/:id/record/:resourceId/origins',
    {
      tag: 'consolidated data',
      reference: 'Operations around E1–E14',
      summary: 'Get the origins of a consolidated resource',
      description:
        'Every delivery that a resource of the consolidated record was merged from: its source, its version at the source, which delivery takes precedence, and by which keys it was matched with the others. `resourceId` is the id that "Get consolidated data" returns.',
    },
    recordOriginsSchema,
  ),
  getRecordConformance: endpoint(
    'GET /medical/v1/patient/:id/record/conformance',
    {
      tag: 'consolidated data',
      reference: 'Operations around E1–E14',
      summary: 'Get the conformance of a record',
      description:
        "How the patient's consolidated record conforms to US Core: which profiles its resources claim, and what the sources left out or wrote in a form that a profile does not allow, by type, profile and element.",
    },
    recordConformanceSchema,
  ),
  splitRecordResource: endpoint(
    'POST /medical/v1/patient/:id/record/:resourceId/split',
    {
      tag: 'consolidated data',
      reference: 'Operations around E1–E14',
      summary: 'Split a delivery from a consolidated resource',
      description:
        'For deliveries that were united although they are two facts: the delivery becomes a resource of its own and stays one, also when its source delivers it again. Returns the origins of that resource. 409 for a Patient, and for a resource with one delivery.',
    },
    recordOriginsSchema,
    { body: splitDeliverySchema },
  ),
  joinRecordResource: endpoint(
    'POST /medical/v1/patient/:id/record/:resourceId/join',
    {
      tag: 'consolidated data',
      reference: 'Operations around E1–E14',
      summary: 'Undo a split',
      description:
        'The resource that a split made is united again with what it agrees with. Returns the origins of the resource that it is part of now. 409 for a resource that no split made.',
    },
    recordOriginsSchema,
  ),
} as const;

/** A request and its response for each of them, for the API reference. */
export const consolidatedExamples = {
  startConsolidatedQuery: {
    params: { id: '01923e9d-02b4-7f6a-8c11-3f5e9d7a6b21' },
    query: {
      resources: 'Condition,Observation',
      dateFrom: '2025-01-01',
      dateTo: '2026-11-21',
      conversionType: 'pdf',
    },
    answer: {
      requestId: '01923ea5-0b9e-7a64-8f12-334455667788',
      status: 'processing',
      startedAt: '2026-11-21T15:04:05Z',
      conversionType: 'pdf',
      resources: ['Condition', 'Observation'],
      dateFrom: '2025-01-01',
      dateTo: '2026-11-21',
    },
  },

  listConsolidatedQueries: {
    params: { id: '01923e9d-02b4-7f6a-8c11-3f5e9d7a6b21' },
    answer: {
      status: 'processing',
      message:
        'To start a new query, POST to /patient/:id/consolidated/query; its data is delivered by webhook (medical.consolidated-data).',
      queries: [
        {
          requestId: '01923ea5-0b9e-7a64-8f12-334455667788',
          status: 'processing',
          startedAt: '2026-11-21T15:04:05Z',
          conversionType: 'json',
          resources: ['Condition'],
        },
      ],
    },
  },

  getConsolidatedQuery: {
    params: {
      id: '01923e9d-02b4-7f6a-8c11-3f5e9d7a6b21',
      requestId: '01923ea5-0b9e-7a64-8f12-334455667788',
    },
    answer: {
      requestId: '01923ea5-0b9e-7a64-8f12-334455667788',
      status: 'processing',
      startedAt: '2026-11-21T15:04:05Z',
      conversionType: 'json',
    },
  },

  getConsolidated: {
    params: { id: '01923e9d-02b4-7f6a-8c11-3f5e9d7a6b21' },
    query: {
      resources: 'Condition,Observation',
      dateFrom: '2025-01-01',
      dateTo: '2026-11-21',
    },
    answer: {
      resourceType: 'Bundle',
      type: 'searchset',
      timestamp: '2026-11-21T15:04:05.000Z',
      total: 1,
      entry: [
        {
          resource: {
            resourceType: 'Condition',
            id: '7b1e5c3a-9d42-8f60-a1b2-0c9d8e7f6a5b',
            meta: { source: 'hie' },
            clinicalStatus: {
              coding: [
                {
                  system:
                    'http://terminology.hl7.org/CodeSystem/condition-clinical',
                  code: 'active',
                },
              ],
            },
            code: {
              coding: [
                {
                  system: 'http://snomed.info/sct',
                  code: '44054006',
                  display: 'Diabetes mellitus type 2',
                },
              ],
            },
            subject: {
              reference: 'Patient/01923e9d-02b4-7f6a-8c11-3f5e9d7a6b21',
            },
          },
        },
      ],
    },
  },

  countConsolidated: {
    params: { id: '01923e9d-02b4-7f6a-8c11-3f5e9d7a6b21' },
    query: {
      resources: 'Condition,Observation',
      dateFrom: '2025-01-01',
      dateTo: '2026-11-21',
    },
    answer: {
      total: 43,
      resources: { Condition: 6, Observation: 37 },
      filter: {
        resources: 'Condition,Observation',
        dateFrom: '2025-01-01',
        dateTo: '2026-11-21',
      },
    },
  },

  getRecordOrigins: {
    params: {
      id: '01923e9d-02b4-7f6a-8c11-3f5e9d7a6b21',
      resourceId: '7b1e5c3a-9d42-8f60-a1b2-0c9d8e7f6a5b',
    },
    answer: {
      resourceType: 'Observation',
      id: '7b1e5c3a-9d42-8f60-a1b2-0c9d8e7f6a5b',
      origins: [
        {
          source: 'lab',
          sourceId: '8f3a1c',
          fileName: 'lab-01923ea3-6f50-7b81-9c0d-1e2f3a4b5c6d.json',
          fromDocument: false,
          collectedAt: '2026-11-21T15:04:05.000Z',
          leads: true,
          superseded: false,
          split: false,
          unitedBy: [
            {
              key: 'content',
              reason:
                'The content that identifies a resource of this type is the same.',
            },
          ],
        },
        {
          source: 'hie',
          sourceId: 'a91',
          fileName: 'hie-01923ea3-6f50-7b81-9c0d-1e2f3a4b5c6d.json',
          fromDocument: false,
          collectedAt: '2026-11-21T15:04:05.000Z',
          leads: false,
          superseded: false,
          split: false,
          unitedBy: [
            {
              key: 'content',
              reason:
                'The content that identifies a resource of this type is the same.',
            },
          ],
        },
      ],
    },
  },

  getRecordConformance: {
    params: { id: '01923e9d-02b4-7f6a-8c11-3f5e9d7a6b21' },
    answer: {
      patientId: '01923e9d-02b4-7f6a-8c11-3f5e9d7a6b21',
      resources: 44,
      claiming: 43,
      summary:
        '43 of 44 entries meet the US standard for health records (US Core); in 2 entries a source left something out, or wrote it in another form.',
      profiles: [
        {
          profile:
            'http://hl7.org/fhir/us/core/StructureDefinition/us-core-medicationrequest|8.0.0',
          resources: 2,
        },
      ],
      defects: [
        {
          resourceType: 'MedicationRequest',
          profile: 'us-core-medicationrequest',
          element: 'requester',
          handling: 'stated-as-unknown',
          resources: 2,
          sources: ['pharmacy'],
          text: '2 prescriptions without an ordering provider; the record says that it is unknown.',
        },
      ],
      withoutProfile: [{ resourceType: 'SupplyDelivery', resources: 1 }],
    },
  },

  splitRecordResource: {
    params: {
      id: '01923e9d-02b4-7f6a-8c11-3f5e9d7a6b21',
      resourceId: '7b1e5c3a-9d42-8f60-a1b2-0c9d8e7f6a5b',
    },
    body: { source: 'lab', sourceId: '8f3a1c' },
    answer: {
      resourceType: 'Observation',
      id: '7b1e5c3a-9d42-8f60-a1b2-0c9d8e7f6a5b',
      origins: [
        {
          source: 'lab',
          sourceId: '8f3a1c',
          fileName: 'lab-01923ea3-6f50-7b81-9c0d-1e2f3a4b5c6d.json',
          fromDocument: false,
          collectedAt: '2026-11-21T15:04:05.000Z',
          leads: true,
          superseded: false,
          split: true,
          unitedBy: [],
        },
      ],
    },
  },

  joinRecordResource: {
    params: {
      id: '01923e9d-02b4-7f6a-8c11-3f5e9d7a6b21',
      resourceId: '7b1e5c3a-9d42-8f60-a1b2-0c9d8e7f6a5b',
    },
    answer: {
      resourceType: 'Observation',
      id: '7b1e5c3a-9d42-8f60-a1b2-0c9d8e7f6a5b',
      origins: [
        {
          source: 'lab',
          sourceId: '8f3a1c',
          fileName: 'lab-01923ea3-6f50-7b81-9c0d-1e2f3a4b5c6d.json',
          fromDocument: false,
          collectedAt: '2026-11-21T15:04:05.000Z',
          leads: true,
          superseded: false,
          split: false,
          unitedBy: [
            {
              key: 'content',
              reason:
                'The content that identifies a resource of this type is the same.',
            },
          ],
        },
        {
          source: 'hie',
          sourceId: 'a91',
          fileName: 'hie-01923ea3-6f50-7b81-9c0d-1e2f3a4b5c6d.json',
          fromDocument: false,
          collectedAt: '2026-11-21T15:04:05.000Z',
          leads: false,
          superseded: false,
          split: false,
          unitedBy: [
            {
              key: 'content',
              reason:
                'The content that identifies a resource of this type is the same.',
            },
          ],
        },
      ],
    },
  },
} satisfies ExamplesOf<typeof consolidatedEndpoints>;
