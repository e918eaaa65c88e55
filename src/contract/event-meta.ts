import { z } from 'zod';
import { answeredMetadataSchema } from './network-query.ts';
import { idSchema, instantSchema } from './primitives.ts';

/** The envelope of every webhook (interface-decisions.md, Webhooks out); `data` is the caller's own metadata. */
export const eventMetaOf = <T extends z.ZodType>(type: T) =>
  z.object({
    messageId: idSchema,
    requestId: idSchema.optional(),
    when: instantSchema,
    type,
    data: answeredMetadataSchema.optional(),
  });
