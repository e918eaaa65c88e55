import { z } from 'zod';
import { checkDateOrder, recordFilter } from './consolidated-query.ts';
import {
  DOCUMENT_FORMATS,
  DOCUMENT_OUTPUTS,
  documentDtoSchema,
  documentReferenceSchema,
} from './documents.ts';
import { endpoint } from './endpoint.ts';
import { itemCount } from './paging.ts';
import { idSchema } from './primitives.ts';

export const documentEndpoints = {
  listDocuments: endpoint('GET /medical/v1/document', {
    query: z
      .object({
        patientId: idSchema,
        dateFrom: recordFilter.dateFrom,
        dateTo: recordFilter.dateTo,
        content: z.string().trim().min(1).max(200).optional().meta({
          description: 'Text to find in title, description, type or category; case-insensitive.',
        }),
        count: itemCount
          .optional()
          .meta({ description: 'Maximum number of documents; the newest are returned. Default: all.' }),
        output: z.enum(DOCUMENT_OUTPUTS).default('fhir'),
      })
      .superRefine(checkDateOrder),
    responses: {
      200: z.object({ documents: z.array(z.union([documentReferenceSchema, documentDtoSchema])) }),
    },
    errors: [404],
  }),
  getDocumentUrl: endpoint('GET /medical/v1/document/download-url', {
    query: z.object({
      fileName: z.string().min(1).max(255).meta({
        pattern: '^[^\\u0000]*$',
        description:
          'A file name from the list of documents or from `meta.source` of a resource, or the id of an attachment of a message.',
      }),
      conversionType: z
        .enum(DOCUMENT_FORMATS)
        .optional()
        .meta({ description: 'Format to convert to. Only for XML/CDA files.' }),
    }),
    responses: { 200: z.object({ url: z.string() }) },
    errors: [404, 410, 422],
  }),
  startBulkDocumentUrls: endpoint('POST /medical/v1/document/download-url/bulk', {
    query: z.object({ patientId: idSchema }),
    responses: {
      200: z.object({ status: z.literal('processing'), requestId: idSchema }),
    },
    errors: [404],
  }),
} as const;
