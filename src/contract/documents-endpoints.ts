import { z } from 'zod';
import { checkDateOrder, recordFilter } from './consolidated-query.ts';
import {
  DOCUMENT_FORMATS,
  DOCUMENT_OUTPUTS,
  documentDtoSchema,
  documentReferenceSchema,
} from './documents.ts';
import { endpoint } from './endpoint.ts';
import { idempotency } from './endpoint-parts.ts';
import { itemCount } from './paging.ts';
import { idSchema } from './primitives.ts';

const reference = 'Operations around E1–E14';

export const documentEndpoints = {
  listDocuments: endpoint({
    method: 'GET',
    path: '/medical/v1/document',
    reference,
    tag: 'document',
    summary: 'List documents',
    description:
      "A patient's documents, newest first: those collected from the sources, each in its latest version, and attachments of messages. The source responses that resources were extracted from (`meta.source`) are not listed; E14 returns them as well. `dateFrom` and `dateTo` apply to the document's own date.",
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
  getDocumentUrl: endpoint({
    method: 'GET',
    path: '/medical/v1/document/download-url',
    reference: 'E14',
    tag: 'document',
    summary: 'Get document URL',
    description:
      'A link to a document, or to the source response that `meta.source` of a resource names, valid for 60 seconds. C-CDA documents can be converted; for other XML, and for C-CDA that cannot be converted, the response is 422 with the reason. 410 if the source has withdrawn the document.',
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
  startBulkDocumentUrls: endpoint({
    method: 'POST',
    path: '/medical/v1/document/download-url/bulk',
    reference,
    tag: 'document',
    summary: 'Bulk get document URLs',
    description:
      'Sends links to all documents of a patient with the webhook `medical.document-bulk-download-urls`. They are valid for one hour from when the webhook is sent.',
    query: z.object({ patientId: idSchema }),
    headers: idempotency,
    responses: {
      200: z.object({ status: z.literal('processing'), requestId: idSchema }),
    },
    errors: [404],
  }),
} as const;
