import { z } from 'zod';
import { endpoint } from './endpoint.ts';
import { byId, pageMetaSchema } from './endpoint-parts.ts';
import {
  MESSAGE_DIRECTIONS,
  MESSAGE_SORT,
  MESSAGE_STATUSES,
  messageRequestSchema,
  messageSchema,
} from './messages.ts';
import { pageQuery } from './paging.ts';
import { idSchema } from './primitives.ts';

export const messageEndpoints = {
  listMessages: endpoint('GET /medical/v1/message', {
    query: pageQuery(
      {
        direction: z.enum(MESSAGE_DIRECTIONS).optional(),
        patientId: idSchema.optional(),
        destination: z
          .string()
          .max(500)
          .optional()
          .meta({ description: 'Exact match with the `destination` of the message.' }),
        status: z.enum(MESSAGE_STATUSES).optional(),
      },
      { sort: MESSAGE_SORT },
    ),
    responses: { 200: z.object({ messages: z.array(messageSchema), meta: pageMetaSchema }) },
  }),
  getMessage: endpoint('GET /medical/v1/message/:id', {
    params: byId,
    responses: { 200: messageSchema },
    errors: [404],
  }),
  sendMessage: endpoint('POST /medical/v1/message', {
    query: z.object({ patientId: idSchema }),
    body: messageRequestSchema,
    responses: { 200: messageSchema },
    errors: [404],
  }),
} as const;
