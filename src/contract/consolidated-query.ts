import { z } from 'zod';
import { boundedList, quoted } from './bounds.ts';
import { endpoint } from './endpoint.ts';
import { eventMetaOf } from './event-meta.ts';
import { metadataSchema } from './network-query.ts';
import { component, described, idSchema, withTexts } from './primitives.ts';
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
  startedAt: z.string().optional(),
  resources: z.array(z.string()).optional(),
  dateFrom: z.string().optional(),
  dateTo: z.string().optional(),
  message: z.string().optional(),
});
export type ConsolidatedQuery = z.output<typeof consolidatedQuerySchema>;

/**
 * Response of "get one consolidated query": includes the link, so that a caller
 * can do without the webhook (decision 31).
 */
export const oneConsolidatedQuerySchema = consolidatedQuerySchema
  .extend(
    withTexts('OneConsolidatedQuery', {
      result: z.string().optional(),
    }),
  )
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
    described('ConsolidatedDataEvent.patients', {
      patientId: idSchema,
      externalId: z.string().optional(),
      additionalIds: z.record(z.string(), z.array(z.string())).optional(),
      status: z.enum(['completed', 'failed']),
      bundle: fhirBundleSchema.optional(),
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
    described('listConsolidatedQueries', {
      status: z.enum(CONSOLIDATED_STATUSES).nullable(),
      message: z.string(),
      queries: z.array(consolidatedQuerySchema),
    }),
  ),
  getConsolidatedQuery: endpoint(
    'GET /medical/v1/patient/:id/consolidated/query/:requestId',
    oneConsolidatedQuerySchema,
  ),
  getConsolidated: endpoint(
    'GET /medical/v1/patient/:id/consolidated',
    fhirBundleSchema,
    {
      query: recordQuery({}),
      mediaType: 'application/fhir+json',
    },
  ),
  countConsolidated: endpoint(
    'GET /medical/v1/patient/:id/consolidated/count',
    {
      query: recordQuery({}),
      responses: {
        200: z.object({
          total: z.number().int(),
          resources: z.record(z.string(), z.number().int()),
          filter: described('countConsolidated.filter', {
            resources: z.string(),
            dateFrom: z.string().optional(),
            dateTo: z.string().optional(),
          }),
        }),
      },
    },
  ),
  getRecordOrigins: endpoint(
    'GET /medical/v1/patient/:id/record/:resourceId/origins',
    recordOriginsSchema,
  ),
  getRecordConformance: endpoint(
    'GET /medical/v1/patient/:id/record/conformance',
    recordConformanceSchema,
  ),
  splitRecordResource: endpoint(
    'POST /medical/v1/patient/:id/record/:resourceId/split',
    recordOriginsSchema,
    { body: splitDeliverySchema },
  ),
  joinRecordResource: endpoint(
    'POST /medical/v1/patient/:id/record/:resourceId/join',
    recordOriginsSchema,
  ),
} as const;
