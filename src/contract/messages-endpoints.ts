import { z } from 'zod';
import { endpoint } from './endpoint.ts';
import { byId, idempotency, pageMetaSchema } from './endpoint-parts.ts';
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
  listMessages: endpoint({
    method: 'GET',
    path: '/medical/v1/message',
    reference: 'E12',
    tag: 'message',
    summary: 'List messages',
    description:
      'Inbound and outbound messages, newest first. The webhook `message.received` announces each inbound message.',
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
  getMessage: endpoint({
    method: 'GET',
    path: '/medical/v1/message/:id',
    reference: 'Operations around E1–E14',
    tag: 'message',
    summary: 'Get message',
    params: byId,
    responses: { 200: messageSchema },
    errors: [404],
  }),
  sendMessage: endpoint({
    method: 'POST',
    path: '/medical/v1/message',
    reference: 'Operations around E1–E14',
    tag: 'message',
    summary: 'Send message',
    description:
      'Sends a message to an OID by XDR, or to a Direct address. Attachments are documents of this patient, 20 MB in total at most. The webhook `message.status` reports whether it was delivered.',
    query: z.object({ patientId: idSchema }),
    headers: idempotency,
    body: messageRequestSchema,
    responses: { 200: messageSchema },
    errors: [404],
  }),
} as const;
