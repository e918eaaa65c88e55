import { z } from 'zod';
import { boundedList, NOT_BLANK, quoted, requiredMembers } from './bounds.ts';
import { type ExamplesOf, endpoint } from './endpoint.ts';
import { eventMetaOf } from './event-meta.ts';
import { pageMetaSchema, pageQuery } from './paging.ts';
import { component, idSchema, instantSchema, isNpi } from './primitives.ts';

/** docs/interface.md, Message. */
export const MESSAGE_DIRECTIONS = ['outbound', 'inbound'] as const;
export type MessageDirection = (typeof MESSAGE_DIRECTIONS)[number];
export const MESSAGE_STATUSES = ['processing', 'completed', 'failed'] as const;
export type MessageStatus = (typeof MESSAGE_STATUSES)[number];
export const TRANSPORT_METHODS = ['xdr', 'direct'] as const;
export type TransportMethod = (typeof TRANSPORT_METHODS)[number];
export const MESSAGE_NETWORKS = ['EHEX', 'CAREQUALITY', 'COMMONWELL'] as const;
export type MessageNetwork = (typeof MESSAGE_NETWORKS)[number];

/**
 * Maximum number of messages that an account may send per minute
 * (docs/interface.md, Limits).
 */
export const MESSAGES_PER_MINUTE = 60;
export const MESSAGE_BODY_LENGTH_MAX = 100_000;
export const MESSAGE_ATTACHMENTS_MAX = 50;
/**
 * Maximum total size of the attachments of one message; they are sent in one
 * request.
 */
export const MESSAGE_ATTACHMENT_BYTES_MAX = 20_000_000;

/**
 * Columns by which the list of messages can be sorted; without `sort`, newest
 * first.
 */
export const MESSAGE_SORT = ['sentAt', 'id'] as const;

export const messageSchema = component('Message', {
  id: idSchema,
  patientId: idSchema
    .optional()
    .describe('Absent if an inbound message names no known patient.'),
  externalId: z
    .string()
    .optional()
    .describe('The caller’s own id of the patient; absent if it has none.'),
  direction: z.enum(MESSAGE_DIRECTIONS),
  status: z.enum(MESSAGE_STATUSES).meta({ id: 'MessageState' }),
  transportMethod: z.enum(TRANSPORT_METHODS),
  network: z
    .enum(MESSAGE_NETWORKS)
    .optional()
    .describe('Present if `transportMethod` is `xdr`.'),
  destination: z.string(),
  subject: z.string(),
  body: z.string().optional(),
  attachments: z
    .array(idSchema)
    .optional()
    .describe(
      'Ids of the attached documents. "Get document URL" (E14) accepts them as `fileName`. They belong to the patient, or to no patient if an inbound message names no known one.',
    ),
  intendedRecipientNpi: z.array(z.string()).optional(),
  sentAt: instantSchema,
  updatedAt: instantSchema,
  reason: z.string().optional().describe('Why the message failed.'),
});
export type Message = z.output<typeof messageSchema>;

const OID = /^[0-2](\.(0|[1-9]\d*))+$/;
const DIRECT_ADDRESS = /^[^\s@<>"(),:;]+@([a-z0-9](-*[a-z0-9])*\.)+[a-z]{2,}$/i;

/**
 * The transport for a destination; undefined if it is neither an OID nor a
 * Direct address.
 */
export function transportOf(destination: string): TransportMethod | undefined {
  if (OID.test(destination)) return 'xdr';
  return DIRECT_ADDRESS.test(destination) ? 'direct' : undefined;
}

const npiSchema = z
  .string()
  .max(40, { abort: true })
  .refine(isNpi, {
    error: (issue) =>
      `${quoted(issue.input)} is not a valid NPI; expected 10 digits, the last of which is the check digit`,
  })
  .meta({ pattern: '^[0-9]{10}$' });

export const messageRequestSchema = z
  .object({
    destination: z
      .string()
      .max(320, { abort: true })
      .trim()
      .transform((value) => value.replace(/^urn:oid:/i, ''))
      .refine((value) => transportOf(value) !== undefined, {
        error:
          'is neither an OID (2.16.840…) nor a Direct address (name@direct.example.org)',
      })
      .meta({
        description: 'An OID (sent by XDR), or a Direct address.',
        anyOf: [
          {
            pattern:
              '^\\s*([Uu][Rr][Nn]:[Oo][Ii][Dd]:)?[0-2](\\.(0|[1-9][0-9]*))+\\s*$',
          },
          {
            pattern:
              '^\\s*[^\\s@<>"(),:;]+@([A-Za-z0-9](-*[A-Za-z0-9])*\\.)+[A-Za-z]{2,}\\s*$',
          },
        ],
      }),
    network: z
      .enum(MESSAGE_NETWORKS)
      .optional()
      .describe(
        'Network through which an OID is reached; default CAREQUALITY. Not allowed with a Direct address.',
      ),
    subject: z
      .string()
      .trim()
      .min(1, { error: 'is required' })
      .max(250, { error: 'must have at most 250 characters' })
      .meta(NOT_BLANK),
    body: z
      .string()
      .max(MESSAGE_BODY_LENGTH_MAX, {
        error: `must have at most ${MESSAGE_BODY_LENGTH_MAX} characters`,
      })
      .optional(),
    attachments: boundedList(
      z.array(idSchema),
      MESSAGE_ATTACHMENTS_MAX,
      `at most ${MESSAGE_ATTACHMENTS_MAX} documents are allowed`,
    )
      .transform((ids) => [...new Set(ids.map((id) => id.toLowerCase()))])
      .optional(),
    intendedRecipientNpi: boundedList(
      z.array(npiSchema),
      20,
      'at most 20 recipients are allowed',
    ).optional(),
  })
  .superRefine(({ destination, network, body, attachments }, context) => {
    if ((body ?? '').trim() === '' && (attachments ?? []).length === 0)
      context.addIssue({
        code: 'custom',
        path: ['body'],
        message: 'a message needs a body, attachments or both',
      });
    if (network !== undefined && transportOf(destination) === 'direct')
      context.addIssue({
        code: 'custom',
        path: ['network'],
        message: 'is allowed only if destination is an OID',
      });
  })
  .meta({
    id: 'SendMessage',
    anyOf: [
      { ...requiredMembers('body'), properties: { body: NOT_BLANK } },
      {
        ...requiredMembers('attachments'),
        properties: { attachments: { minItems: 1 } },
      },
    ],
  });
export type MessageRequest = z.output<typeof messageRequestSchema>;

export const MESSAGE_EVENT_TYPES = [
  'message.received',
  'message.status',
] as const;
export type MessageEventType = (typeof MESSAGE_EVENT_TYPES)[number];

/**
 * Sent when a message is received, and when a sent message has completed or
 * failed (docs/interface.md, Events). Published consumers of `message.status`
 * require `completedAt`, which a Message does not have: the time at which the
 * message completed or failed.
 */
export const messageEventSchema = component('MessageEvent', {
  meta: eventMetaOf(z.enum(MESSAGE_EVENT_TYPES)),
  payload: messageSchema.extend({
    completedAt: instantSchema.optional().describe('Only in `message.status`'),
  }),
});

export const messageEndpoints = {
  listMessages: endpoint(
    'GET /medical/v1/message',
    {
      tag: 'message',
      reference: 'E12',
      summary: 'List messages',
      description:
        'Inbound and outbound messages, newest first. The webhook `message.received` announces each inbound message.',
    },
    {
      query: pageQuery(MESSAGE_SORT, {
        direction: z.enum(MESSAGE_DIRECTIONS).optional(),
        patientId: idSchema.optional(),
        destination: z
          .string()
          .max(500)
          .optional()
          .describe('Exact match with the `destination` of the message.'),
        status: z.enum(MESSAGE_STATUSES).optional(),
      }),
      responses: {
        200: z.object({
          messages: z.array(messageSchema),
          meta: pageMetaSchema,
        }),
      },
    },
  ),
  getMessage: endpoint(
    'GET /medical/v1/message/:id',
    {
      tag: 'message',
      reference: 'Operations around E1–E14',
      summary: 'Get message',
    },
    messageSchema,
  ),
  sendMessage: endpoint(
    'POST /medical/v1/message',
    {
      tag: 'message',
      reference: 'Operations around E1–E14',
      summary: 'Send message',
      description:
        'Sends a message to an OID by XDR, or to a Direct address. Attachments are documents of this patient, 20 MB in total at most. The webhook `message.status` reports whether it was delivered.',
    },
    messageSchema,
    {
      query: z.object({ patientId: idSchema }),
      body: messageRequestSchema,
      errors: [404],
    },
  ),
} as const;

/** A request and its response for each of them, for the API reference. */
export const messageExamples = {
  listMessages: {
    query: { direction: 'outbound', status: 'processing' },
    answer: {
      messages: [
        {
          id: '01923ea8-4b5c-7d6e-9f70-8192a3b4c5d6',
          patientId: '01923e9d-02b4-7f6a-8c11-3f5e9d7a6b21',
          direction: 'outbound',
          status: 'processing',
          transportMethod: 'direct',
          destination: 'dr.jones@direct.example.org',
          subject: 'Referral',
          body: 'Please see the attached summary.',
          sentAt: '2026-11-21T15:04:05.000Z',
          updatedAt: '2026-11-21T15:04:05.000Z',
        },
      ],
      meta: { itemsOnPage: 1, itemsInTotal: 1 },
    },
  },

  getMessage: {
    params: { id: '01923ea8-4b5c-7d6e-9f70-8192a3b4c5d6' },
    answer: {
      id: '01923ea8-4b5c-7d6e-9f70-8192a3b4c5d6',
      patientId: '01923e9d-02b4-7f6a-8c11-3f5e9d7a6b21',
      direction: 'outbound',
      status: 'processing',
      transportMethod: 'direct',
      destination: 'dr.jones@direct.example.org',
      subject: 'Referral',
      body: 'Please see the attached summary.',
      sentAt: '2026-11-21T15:04:05.000Z',
      updatedAt: '2026-11-21T15:04:05.000Z',
    },
  },

  sendMessage: {
    query: { patientId: '01923e9d-02b4-7f6a-8c11-3f5e9d7a6b21' },
    body: {
      destination: 'dr.jones@direct.example.org',
      subject: 'Referral',
      body: 'Please see the attached summary.',
      attachments: ['01923ea3-6f50-7b81-9c0d-1e2f3a4b5c6d'],
    },
    answer: {
      id: '01923ea8-4b5c-7d6e-9f70-8192a3b4c5d6',
      patientId: '01923e9d-02b4-7f6a-8c11-3f5e9d7a6b21',
      direction: 'outbound',
      status: 'processing',
      transportMethod: 'direct',
      destination: 'dr.jones@direct.example.org',
      subject: 'Referral',
      body: 'Please see the attached summary.',
      sentAt: '2026-11-21T15:04:05.000Z',
      updatedAt: '2026-11-21T15:04:05.000Z',
      attachments: ['01923ea3-6f50-7b81-9c0d-1e2f3a4b5c6d'],
    },
  },
} satisfies ExamplesOf<typeof messageEndpoints>;
