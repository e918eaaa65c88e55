import { z } from 'zod';
import { ETAG_LENGTH_MAX } from './bounds.ts';
import { idSchema } from './primitives.ts';

export const byId = z.object({ id: idSchema });
export const byRequestId = z.object({ requestId: idSchema });
export const idempotency = z.object({
  'idempotency-key': z.string().min(1).max(255).optional().meta({
    description: 'The same key and body give the first answer for 24 h; another body 422, still running 409.',
  }),
});
export const ifMatch = z.object({
  'if-match': z
    .string()
    .max(ETAG_LENGTH_MAX)
    .optional()
    .meta({ description: 'The eTag last seen; 412 when it has changed.' }),
});
/** A body that may be left out, of an operation whose other parameters are in its address. */
export const eTagBody = z
  .object({
    eTag: z.string().max(ETAG_LENGTH_MAX).optional().meta({ description: 'Instead of `If-Match`.' }),
  })
  .nullish()
  .transform((body) => body ?? {});
export const pageMetaSchema = z
  .object({
    itemsOnPage: z.number().int(),
    itemsInTotal: z.number().int(),
    nextPage: z.string().optional(),
    prevPage: z.string().optional(),
  })
  .meta({ id: 'PageMeta' });
