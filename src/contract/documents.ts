import { z } from 'zod';
import { checkDateOrder, recordFilter } from './consolidated-query.ts';
import { type ExamplesOf, endpoint } from './endpoint.ts';
import { eventMetaOf } from './event-meta.ts';
import { itemCount } from './paging.ts';
import { component, idSchema, recordSourceSchema } from './primitives.ts';

/**
 * Formats that a C-CDA document can be converted to (E14, `conversionType`).
 */
export const DOCUMENT_FORMATS = ['html', 'pdf'] as const;
export type DocumentFormat = (typeof DOCUMENT_FORMATS)[number];

/** Representations of a listed document (`output`). */
export const DOCUMENT_OUTPUTS = ['fhir', 'dto'] as const;

export const documentReferenceSchema = z
  .looseObject({ resourceType: z.literal('DocumentReference'), id: idSchema })
  .meta({
    id: 'DocumentReference',
    description:
      'A FHIR R4 DocumentReference; `content[0].attachment.title` is the file name that E14 takes.',
  });

export const documentDtoSchema = component('Document', {
  id: idSchema,
  fileName: z.string().describe('The `fileName` for "Get document URL" (E14).'),
  description: z.string().optional(),
  status: z.string().optional(),
  indexed: z
    .string()
    .optional()
    .describe('When the source indexed the document.'),
  mimeType: z.string(),
  size: z.number().int().describe('Size in bytes.'),
  type: z.looseObject({}).optional().describe('FHIR CodeableConcept'),
  source: recordSourceSchema.describe(
    '`message`: the document was attached to a message.',
  ),
});
export type DocumentDto = z.output<typeof documentDtoSchema>;

export const DOCUMENT_URLS_EVENT_TYPE = 'medical.document-bulk-download-urls';

/** Links to all documents of a patient (docs/interface.md, Events). */
export const documentUrlsEventSchema = component('DocumentUrlsEvent', {
  meta: eventMetaOf(z.literal(DOCUMENT_URLS_EVENT_TYPE)),
  patients: z.array(
    z.object({
      patientId: idSchema,
      externalId: z.string().optional(),
      additionalIds: z.record(z.string(), z.array(z.string())).optional(),
      status: z.enum(['completed', 'failed']),
      documents: z.array(
        z.object({
          id: idSchema,
          fileName: z.string(),
          mimeType: z.string(),
          size: z.number().int(),
          url: z
            .string()
            .describe('Valid for one hour from when this webhook was sent.'),
        }),
      ),
    }),
  ),
});
export type DocumentUrlsEvent = z.output<typeof documentUrlsEventSchema>;

export const documentEndpoints = {
  listDocuments: endpoint(
    'GET /medical/v1/document',
    {
      tag: 'document',
      reference: 'Operations around E1–E14',
      summary: 'List documents',
      description:
        "A patient's documents, newest first: those collected from the sources, each in its latest version, and attachments of messages. The source responses that resources were extracted from (`meta.source`) are not listed; E14 returns them as well. `dateFrom` and `dateTo` apply to the document's own date.",
    },
    {
      query: z
        .object({
          patientId: idSchema,
          dateFrom: recordFilter.dateFrom,
          dateTo: recordFilter.dateTo,
          content: z
            .string()
            .trim()
            .min(1)
            .max(200)
            .optional()
            .describe(
              'Text to find in title, description, type or category; case-insensitive.',
            ),
          count: itemCount
            .optional()
            .describe(
              'Maximum number of documents; the newest are returned. Default: all.',
            ),
          output: z.enum(DOCUMENT_OUTPUTS).default('fhir'),
        })
        .superRefine(checkDateOrder),
      responses: {
        200: z.object({
          documents: z.array(
            z.union([documentReferenceSchema, documentDtoSchema]),
          ),
        }),
      },
      errors: [404],
    },
  ),
  getDocumentUrl: endpoint(
    'GET /medical/v1/document/download-url',
    {
      tag: 'document',
      reference: 'E14',
      summary: 'Get document URL',
      description:
        'A link to a document, or to the source response that `meta.source` of a resource names, valid for 60 seconds. C-CDA documents can be converted; for other XML, and for C-CDA that cannot be converted, the response is 422 with the reason. 410 if the source has withdrawn the document.',
    },
    {
      query: z.object({
        fileName: z.string().min(1).max(255).meta({
          pattern: '^[^\\u0000]*$',
          description:
            'A file name from the list of documents or from `meta.source` of a resource, or the id of an attachment of a message.',
        }),
        conversionType: z
          .enum(DOCUMENT_FORMATS)
          .optional()
          .describe('Format to convert to. Only for XML/CDA files.'),
      }),
      responses: { 200: z.object({ url: z.string() }) },
      errors: [404, 410, 422],
    },
  ),
  startBulkDocumentUrls: endpoint(
    'POST /medical/v1/document/download-url/bulk',
    {
      tag: 'document',
      reference: 'Operations around E1–E14',
      summary: 'Bulk get document URLs',
      description:
        'Sends links to all documents of a patient with the webhook `medical.document-bulk-download-urls`. They are valid for one hour from when the webhook is sent.',
    },
    {
      query: z.object({ patientId: idSchema }),
      responses: {
        200: z.object({ status: z.literal('processing'), requestId: idSchema }),
      },
      errors: [404],
    },
  ),
} as const;

/** A request and its response for each of them, for the API reference. */
export const documentExamples = {
  listDocuments: {
    query: { patientId: '01923e9d-02b4-7f6a-8c11-3f5e9d7a6b21' },
    answer: {
      documents: [
        {
          resourceType: 'DocumentReference',
          id: '01923ea3-6f50-7b81-9c0d-1e2f3a4b5c6d',
          status: 'current',
          meta: {
            lastUpdated: '2026-11-21T15:04:05.000Z',
            source: 'hie-01923ea3-6f50-7b81-9c0d-1e2f3a4b5c6d.pdf',
          },
          subject: {
            reference: 'Patient/01923e9d-02b4-7f6a-8c11-3f5e9d7a6b21',
          },
          content: [
            {
              attachment: {
                contentType: 'application/pdf',
                size: 48211,
                title: 'hie-01923ea3-6f50-7b81-9c0d-1e2f3a4b5c6d.pdf',
              },
            },
          ],
        },
      ],
    },
  },

  getDocumentUrl: {
    query: { fileName: 'hie-01923ea3-6f50-7b81-9c0d-1e2f3a4b5c6d.pdf' },
    answer: {
      url: 'https://exchange.example.org/links/document/AaICCIpDdh6oNC66',
    },
  },

  startBulkDocumentUrls: {
    query: { patientId: '01923e9d-02b4-7f6a-8c11-3f5e9d7a6b21' },
    answer: {
      status: 'processing',
      requestId: '01923ea4-1a2b-7c3d-8e4f-506172839405',
    },
  },
} satisfies ExamplesOf<typeof documentEndpoints>;
