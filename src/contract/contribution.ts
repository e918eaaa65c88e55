import { z } from 'zod';
import { boundedList, quoted } from './bounds.ts';
import { fhirBundleSchema, RECORD_TYPES } from './consolidated-query.ts';
import { type ExamplesOf, endpoint } from './endpoint.ts';
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
  resources: z.number().int().describe('How many resources it stated.'),
  status: z
    .enum(['received', 'awaiting-upload', 'never-arrived'])
    .describe(
      '`awaiting-upload`, `never-arrived`: of a document whose file has not been uploaded.',
    ),
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
  contributeDocument: endpoint(
    'POST /medical/v1/document/upload',
    {
      tag: 'document',
      reference: 'Contribution',
      summary: 'Contribute a document',
      description:
        "Describes a document of your own by a FHIR R4 DocumentReference, and returns its id and the address to which its file is sent: `PUT` with the Content-Type of the file, at most 50 MB, within an hour. No key is needed there: the address is the permission. With the file the document is in the patient's record under the source `contribution`; C-CDA documents are read, too.",
    },
    {
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
    },
  ),
  contributeData: endpoint(
    'PUT /medical/v1/patient/:id/consolidated',
    {
      tag: 'consolidated data',
      reference: 'Contribution',
      summary: 'Contribute data',
      description:
        "Adds resources of your own to the patient's record, or replaces them: a FHIR R4 Bundle of the type `collection` or `searchset`. They are merged like those of a source, under the source `contribution`. References to the patient must be `Patient/<id>`; a resource without a patient is about this one. The response is a Bundle of the type `transaction-response`, with an entry for each resource, in order. Either all are accepted or none.",
    },
    fhirBundleSchema,
    {
      body: bundleSchema,
      fhirBytesMax: CONTRIBUTION_BYTES_MAX,
    },
  ),
  listContributions: endpoint(
    'GET /medical/v1/patient/:id/contribution',
    {
      tag: 'consolidated data',
      reference: 'Contribution',
      summary: 'List contributions',
      description:
        "What you have contributed to the patient's record, newest first.",
    },
    z.object({ contributions: z.array(contributionSchema) }),
  ),
  removeContribution: endpoint(
    'DELETE /medical/v1/patient/:id/contribution/:contributionId',
    {
      tag: 'consolidated data',
      reference: 'Contribution',
      summary: 'Remove a contribution',
      description:
        "Removes what a contribution stated from the patient's record and erases it. What an earlier contribution stated of the same resources counts again.",
    },
    null,
    {
      errors: [409],
    },
  ),
} as const;

/** A request and its response for each of them, for the API reference. */
export const contributionExamples = {
  contributeData: {
    params: { id: '01923e9d-02b4-7f6a-8c11-3f5e9d7a6b21' },
    body: {
      resourceType: 'Bundle',
      type: 'collection',
      entry: [
        {
          resource: {
            resourceType: 'Condition',
            id: 'c-1',
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
                  code: '38341003',
                  display: 'Hypertension',
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
    answer: {
      resourceType: 'Bundle',
      id: '01923eb0-11aa-7c23-9d45-6e7f8091a2b3',
      type: 'transaction-response',
      entry: [
        {
          response: {
            status: '201 Created',
            location: 'Condition/c-1/_history/1',
            etag: 'W/"1"',
            lastModified: '2026-11-23T10:00:00.000Z',
            outcome: {
              resourceType: 'OperationOutcome',
              issue: [
                {
                  severity: 'information',
                  code: 'informational',
                  diagnostics: 'Created',
                },
              ],
            },
          },
        },
      ],
    },
  },

  listContributions: {
    params: { id: '01923e9d-02b4-7f6a-8c11-3f5e9d7a6b21' },
    answer: {
      contributions: [
        {
          id: '01923eb0-11aa-7c23-9d45-6e7f8091a2b3',
          kind: 'resources',
          contributedAt: '2026-11-23T10:00:00.000Z',
          resources: 1,
          status: 'received',
        },
      ],
    },
  },

  removeContribution: {
    params: {
      id: '01923e9d-02b4-7f6a-8c11-3f5e9d7a6b21',
      contributionId: '01923eb0-11aa-7c23-9d45-6e7f8091a2b3',
    },
  },

  contributeDocument: {
    query: { patientId: '01923e9d-02b4-7f6a-8c11-3f5e9d7a6b21' },
    body: {
      description: 'Third degree wrist burn treatment',
      type: {
        text: 'Burn management Hospital Progress note',
        coding: [{ system: 'http://loinc.org', code: '100556-0' }],
      },
      context: { period: { start: '2026-11-20T14:14:17Z' } },
    },
    answer: {
      documentReferenceId: '01923eb1-22bb-7d34-8e56-7f8091a2b3c4',
      uploadUrl:
        'https://exchange.example.org/links/document-upload/AaICCIpDdh6oNC66',
    },
  },
} satisfies ExamplesOf<typeof contributionEndpoints>;
