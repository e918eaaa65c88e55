import { z } from 'zod';
import { responseMetadataSchema } from './network-query.ts';
import { idSchema, instantSchema } from './primitives.ts';

/**
 * `meta` of every webhook (docs/interface.md, Events); `data` is the caller's
 * own metadata.
 */
export const eventMetaOf = <T extends z.ZodType>(type: T) =>
  z.object({
    messageId: idSchema,
    requestId: idSchema.optional(),
    when: instantSchema,
    type,
    data: responseMetadataSchema.optional(),
  });
