import { z } from 'zod';
import { boundedList, quoted } from './bounds.ts';
import { fhirBundleSchema, RECORD_TYPES } from './consolidated-query.ts';
import { endpoint } from './endpoint.ts';
import { component, idSchema, instantSchema } from './primitives.ts';

/** Limits of one contribution. */
export const CONTRIBUTION_BYTES_MAX = 5_000_000;
export const CONTRIBUTED_RESOURCES_MAX = 1_000;

const recordTypes: ReadonlySet<string> = new Set(RECORD_TYPES);

const resourceSchema = z
  .looseObject({
    resourceType: z.string().refine((type) => recordTypes.has(type), {
      error: ({ input }) =>
        `${quoted(input)} is not a type that records hold; supported types are ${RECORD_TYPES.join(', ')}`,
    }),
    id: z
      .string()
      .regex(/^[A-Za-z0-9.-]{1,64}$/, {
        error: 'must have 1 to 64 letters, digits, "-" or "."',
      })
      .optional(),
  })
  .meta({ id: 'ContributedResource' });

const entrySchema = z.looseObject({
  fullUrl: z.string().max(500).optional(),
  resource: resourceSchema,
});
export type ContributedEntry = z.output<typeof entrySchema>;

const bundleSchema = z
  .looseObject({
    resourceType: z.literal('Bundle', { error: 'must be Bundle' }),
    type: z.enum(['collection', 'searchset'], {
      error: 'must be collection or searchset',
    }),
    entry: boundedList(
      z.array(entrySchema).min(1, { error: 'must have at least one resource' }),
      CONTRIBUTED_RESOURCES_MAX,
      `has more than ${CONTRIBUTED_RESOURCES_MAX} resources; contribute them in several requests`,
    ),
  })
  .meta({ id: 'ContributedBundle' });

const contributionSchema = component('Contribution', {
  id: idSchema,
  kind: z.enum(['resources', 'document']),
  contributedAt: instantSchema,
  resources: z.number().int(),
  status: z.enum(['received', 'awaiting-upload', 'never-arrived']),
});
export type ContributionStatus = z.output<typeof contributionSchema>['status'];

/** Size of a contributed document. */
export const CONTRIBUTED_DOCUMENT_BYTES_MAX = 50_000_000;

/** A FHIR R4 DocumentReference without its file; what it lacks is filled in. */
const documentReferenceBodySchema = z
  .looseObject({
    description: z.string().trim().min(1).max(1_000),
    type: z.looseObject(
      {},
      {
        error: 'type is required: what kind of document it is, {text, coding}',
      },
    ),
    context: z.looseObject(
      {},
      { error: 'context is required, with the period of the care' },
    ),
  })
  .meta({ id: 'ContributedDocument' });

export const contributionEndpoints = {
  contributeDocument: endpoint('POST /medical/v1/document/upload', {
    query: z.object({ patientId: idSchema }),
    body: documentReferenceBodySchema,
    fhirBytesMax: 100_000,
    responses: {
      200: z.object({
        documentReferenceId: idSchema,
        uploadUrl: z
          .string()
          .meta({ description: 'Where to PUT the file; valid for an hour.' }),
      }),
    },
    errors: [404],
  }),
  contributeData: endpoint(
    'PUT /medical/v1/patient/:id/consolidated',
    fhirBundleSchema,
    {
      body: bundleSchema,
      fhirBytesMax: CONTRIBUTION_BYTES_MAX,
    },
  ),
  listContributions: endpoint(
    'GET /medical/v1/patient/:id/contribution',
    z.object({ contributions: z.array(contributionSchema) }),
  ),
  removeContribution: endpoint(
    'DELETE /medical/v1/patient/:id/contribution/:contributionId',
    null,
    {
      errors: [409],
    },
  ),
} as const;
