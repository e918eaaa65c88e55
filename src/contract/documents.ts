import { z } from 'zod';
import { eventMetaOf } from './event-meta.ts';
import { idSchema, recordSourceSchema } from './primitives.ts';

/** Formats that a C-CDA document can be converted to (E14, `conversionType`). */
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

export const documentDtoSchema = z
  .object({
    id: idSchema,
    fileName: z.string().meta({ description: 'The `fileName` for "Get document URL" (E14).' }),
    description: z.string().optional(),
    status: z.string().optional(),
    indexed: z.string().optional().meta({ description: 'When the source indexed the document.' }),
    mimeType: z.string(),
    size: z.number().int().meta({ description: 'Size in bytes.' }),
    type: z.looseObject({}).optional().meta({ description: 'FHIR CodeableConcept' }),
    source: recordSourceSchema.meta({ description: '`message`: the document was attached to a message.' }),
  })
  .meta({ id: 'Document' });
export type DocumentDto = z.output<typeof documentDtoSchema>;

export const DOCUMENT_URLS_EVENT_TYPE = 'medical.document-bulk-download-urls';

/** Links to all documents of a patient (docs/interface.md, Events). */
export const documentUrlsEventSchema = z
  .object({
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
            url: z.string().meta({ description: 'Valid for one hour from when this webhook was sent.' }),
          }),
        ),
      }),
    ),
  })
  .meta({ id: 'DocumentUrlsEvent' });
export type DocumentUrlsEvent = z.output<typeof documentUrlsEventSchema>;
