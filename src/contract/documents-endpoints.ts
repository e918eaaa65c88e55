import { z } from 'zod';
import { daysInOrder, recordFilter } from './consolidated-query.ts';
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
      "The documents that the sources hold of a patient, each as it was collected last, and those that came with messages, newest first. The answers that resources came in (`meta.source`) are not among them; E14 gives those too. Dates are the document's own.",
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
          .meta({ description: 'Text to find in title, description, type or category, in any case.' }),
        count: itemCount.optional().meta({ description: 'The newest so many; all without it.' }),
        output: z.enum(DOCUMENT_OUTPUTS).default('fhir'),
      })
      .superRefine(daysInOrder),
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
      'A link to a document, or to the source answer that `meta.source` of a resource names, good for 60 seconds. C-CDA documents can be converted; what is XML but cannot be converted is a 422 that says why. A document that its source has taken back is a 410.',
    query: z.object({
      fileName: z.string().min(1).max(255).meta({
        description:
          'From the list of documents, or from `meta.source` of a resource; or the id of a message’s attachment.',
      }),
      conversionType: z.enum(DOCUMENT_FORMATS).optional().meta({ description: 'For XML/CDA files only.' }),
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
      'Sends links to all documents of a patient by the webhook `medical.document-bulk-download-urls`. They are good for an hour from its sending.',
    query: z.object({ patientId: idSchema }),
    headers: idempotency,
    responses: {
      200: z.object({ status: z.literal('processing'), requestId: idSchema }),
    },
    errors: [404],
  }),
} as const;
