import { z } from 'zod';
import { boundedList, quoted } from './bounds.ts';
import { eventMetaOf } from './event-meta.ts';
import { metadataSchema } from './network-query.ts';
import { idSchema } from './primitives.ts';

/** interface.md, ConsolidatedQuery. */
export const CONVERSION_TYPES = ['json', 'html', 'pdf'] as const;
export type ConversionType = (typeof CONVERSION_TYPES)[number];

export const CONSOLIDATED_STATUSES = ['processing', 'completed', 'failed'] as const;
export type ConsolidatedStatus = (typeof CONSOLIDATED_STATUSES)[number];

/** FHIR R4 types that a patient's consolidated record may hold. */
export const RECORD_TYPES: readonly string[] =
  'AdverseEvent AllergyIntolerance Appointment BodyStructure CarePlan CareTeam Claim ClinicalImpression Communication CommunicationRequest Composition Condition Consent Coverage DetectedIssue Device DeviceRequest DeviceUseStatement DiagnosticReport DocumentReference Encounter Endpoint EpisodeOfCare ExplanationOfBenefit FamilyMemberHistory Flag Goal HealthcareService ImagingStudy Immunization ImmunizationEvaluation ImmunizationRecommendation List Location Media Medication MedicationAdministration MedicationDispense MedicationRequest MedicationStatement NutritionOrder Observation Organization Patient Practitioner PractitionerRole Procedure Provenance QuestionnaireResponse RelatedPerson RiskAssessment ServiceRequest Specimen Substance SupplyDelivery SupplyRequest Task VisionPrescription'.split(
    ' ',
  );
const recordTypes: ReadonlySet<string> = new Set(RECORD_TYPES);

/** All types together, and some more than once. */
const A_TYPE = `\\s*(${RECORD_TYPES.join('|')})\\s*`;
const resourcesText = z
  .string()
  .max(2_000)
  .meta({ pattern: `^${A_TYPE}(,${A_TYPE})*$` });
const RESOURCES_MAX = 200;

const resourcesSchema = z
  .union([resourcesText, boundedList(z.array(resourcesText), 100)])
  .transform((value) => [value].flat().flatMap((text) => text.split(',').map((name) => name.trim())))
  .superRefine((names, context) => {
    const refuse = (message: string) => context.addIssue({ code: 'custom', message });
    if (names.length > RESOURCES_MAX) return refuse(`names at most ${RESOURCES_MAX} types`);
    // The first one is enough: the message has all types that there are.
    const unknown = names.find((name) => !recordTypes.has(name));
    if (unknown === undefined) return;
    const what = unknown === '' ? 'holds an empty name' : `${quoted(unknown)} is none of its types`;
    refuse(`${what}; a record has ${RECORD_TYPES.join(', ')}`);
  })
  .transform((names) => [...new Set(names)].sort())
  .meta({
    description: 'FHIR resource types, separated by commas; all when left out.',
    example: 'Condition,Observation',
  });

const dateSchema = (description: string) =>
  z.iso
    .date({ error: ({ input }) => `${quoted(input ?? '')} is not a date of the form YYYY-MM-DD` })
    .refine((date) => date >= '0001-01-01', { error: 'is before the year 1' })
    .optional()
    .meta({ description });

/** What of a record is wanted, as the query parameters of all operations on it say. */
export const recordFilter = {
  resources: resourcesSchema.optional(),
  dateFrom: dateSchema('First day that counts. What has no date is always there.'),
  dateTo: dateSchema('Last day that counts.'),
};

/** A query with `recordFilter` and more; refuses days in the wrong order. */
export const recordQuery = <S extends z.ZodRawShape>(shape: S) =>
  z.object({ ...recordFilter, ...shape }).superRefine(daysInOrder);

/** Of a schema with `dateFrom` and `dateTo`: refuses a last day before the first. */
export function daysInOrder(query: object, context: z.RefinementCtx): void {
  const { dateFrom, dateTo } = query as { dateFrom?: string; dateTo?: string };
  if (dateFrom === undefined || dateTo === undefined || dateFrom <= dateTo) return;
  context.addIssue({
    code: 'custom',
    path: ['dateTo'],
    message: `is ${dateTo}, before dateFrom (${dateFrom}); give the same day or a later one`,
  });
}

export const consolidatedQuerySchema = z
  .object({
    requestId: idSchema,
    status: z.enum(CONSOLIDATED_STATUSES),
    conversionType: z.enum(CONVERSION_TYPES),
    startedAt: z.string().optional().meta({ description: '`YYYY-MM-DDTHH:MM:SSZ`' }),
    resources: z.array(z.string()).optional(),
    dateFrom: z.string().optional(),
    dateTo: z.string().optional(),
    message: z.string().optional().meta({ description: 'Why it failed.' }),
  })
  .meta({ id: 'ConsolidatedQuery' });
export type ConsolidatedQuery = z.output<typeof consolidatedQuerySchema>;

/** "Get one" also gives a link, so that a lost webhook is no loss (decision 31). */
export const oneConsolidatedQuerySchema = consolidatedQuerySchema
  .extend({
    result: z.string().optional().meta({
      description: 'Of a completed query: link to the result, good for 72 h; every call gives a fresh one.',
    }),
  })
  .meta({ id: 'OneConsolidatedQuery' });

/** The body of a start may be left out. */
export const startConsolidatedBodySchema = z
  .object({ metadata: metadataSchema.optional() })
  .nullish()
  .transform((body) => body ?? {});

/** A FHIR Bundle; what is in it is FHIR's matter. */
export const fhirBundleSchema = z
  .looseObject({
    resourceType: z.literal('Bundle'),
    type: z.string(),
    entry: z.array(z.looseObject({})).optional(),
  })
  .meta({ id: 'FhirBundle', description: 'A FHIR R4 Bundle.' });

export const CONSOLIDATED_DATA_EVENT_TYPE = 'medical.consolidated-data';

/** The result of a consolidated query is there, or it has failed (interface-decisions.md, Webhooks out). */
export const consolidatedDataEventSchema = z
  .object({
    meta: eventMetaOf(z.literal(CONSOLIDATED_DATA_EVENT_TYPE)),
    patients: z.array(
      z.object({
        patientId: idSchema,
        externalId: z.string().optional(),
        additionalIds: z.record(z.string(), z.array(z.string())).optional(),
        status: z.enum(['completed', 'failed']),
        bundle: fhirBundleSchema.optional().meta({
          description: 'One DocumentReference whose attachment is the link to the result.',
        }),
        filters: z.record(z.string(), z.string()).optional(),
      }),
    ),
  })
  .meta({ id: 'ConsolidatedDataEvent' });
export type ConsolidatedDataEvent = z.output<typeof consolidatedDataEventSchema>;
