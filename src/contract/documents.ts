import { z } from 'zod';
import { checkDateOrder, recordFilter } from './consolidated-query.ts';
import { endpoint } from './endpoint.ts';
import { eventMetaOf } from './event-meta.ts';
import { itemCount } from './paging.ts';
import {
  component,
  described,
  idSchema,
  recordSourceSchema,
} from './primitives.ts';

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
  fileName: z.string(),
  description: z.string().optional(),
  status: z.string().optional(),
  indexed: z.string().optional(),
  mimeType: z.string(),
  size: z.number().int(),
  type: z.looseObject({}).optional(),
  source: recordSourceSchema,
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
        described('DocumentUrlsEvent.documents', {
          id: idSchema,
          fileName: z.string(),
          mimeType: z.string(),
          size: z.number().int(),
          url: z.string(),
        }),
      ),
    }),
  ),
});
export type DocumentUrlsEvent = z.output<typeof documentUrlsEventSchema>;

export const documentEndpoints = {
  listDocuments: endpoint('GET /medical/v1/document', {
    query: described('listDocuments query', {
      patientId: idSchema,
      dateFrom: recordFilter.dateFrom,
      dateTo: recordFilter.dateTo,
      content: z.string().trim().min(1).max(200).optional(),
      count: itemCount.optional(),
      output: z.enum(DOCUMENT_OUTPUTS).default('fhir'),
    }).superRefine(checkDateOrder),
    responses: {
      200: z.object({
        documents: z.array(
          z.union([documentReferenceSchema, documentDtoSchema]),
        ),
      }),
    },
    errors: [404],
  }),
  getDocumentUrl: endpoint('GET /medical/v1/document/download-url', {
    query: described('getDocumentUrl query', {
      fileName: z.string().min(1).max(255).meta({
        pattern: '^[^\\u0000]*$',
        description:
          'A file name from the list of documents or from `meta.source` of a resource, or the id of an attachment of a message.',
      }),
      conversionType: z.enum(DOCUMENT_FORMATS).optional(),
    }),
    responses: { 200: z.object({ url: z.string() }) },
    errors: [404, 410, 422],
  }),
  startBulkDocumentUrls: endpoint(
    'POST /medical/v1/document/download-url/bulk',
    {
      query: z.object({ patientId: idSchema }),
      responses: {
        200: z.object({ status: z.literal('processing'), requestId: idSchema }),
      },
      errors: [404],
    },
  ),
} as const;
