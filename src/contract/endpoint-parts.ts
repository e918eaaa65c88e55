import { z } from 'zod';
import { ETAG_LENGTH_MAX } from './bounds.ts';

export const ifMatch = z.object({
  'if-match': z
    .string()
    .max(ETAG_LENGTH_MAX)
    .optional()
    .meta({ description: 'The last known eTag. 412 if it is no longer current.' }),
});
/** Optional body of operations whose other parameters are all in the path and query. */
export const eTagBody = z
  .object({
    eTag: z
      .string()
      .max(ETAG_LENGTH_MAX)
      .optional()
      .meta({ description: 'The last known eTag; an alternative to `If-Match`.' }),
  })
  .nullish()
  .transform((body) => body ?? {});
export const pageMetaSchema = z
  .object({
    itemsOnPage: z.number().int(),
    itemsInTotal: z
      .number()
      .int()
      .meta({ description: 'Counted up to 10,000; the patients of a cohort always.' }),
    itemsInTotalIsMinimum: z
      .literal(true)
      .optional()
      .meta({ description: 'Present when there are more than `itemsInTotal`.' }),
    nextPage: z.string().optional(),
    prevPage: z.string().optional(),
  })
  .meta({ id: 'PageMeta' });
