import { z } from 'zod';
import { boundedList, quoted, required, URL_LENGTH_MAX } from './bounds.ts';
import { webhookEventSchema } from './events.ts';
import { idSchema, instantSchema } from './primitives.ts';
import { TEST_EVENT_TYPE } from './webhook-test.ts';

/** Types of the events that destinations can be given; a ping or a test goes to the destination that it is for. */
export const WEBHOOK_EVENT_TYPES: readonly string[] = webhookEventSchema.options
  .flatMap(({ shape }): string[] => {
    const { type } = shape.meta.shape;
    return 'options' in type ? [...type.options] : [...type.values];
  })
  .filter((type) => type !== 'ping' && type !== TEST_EVENT_TYPE)
  .sort();

/** Whether a filter lets an event type through: the type itself, or with `*` at its end what it begins with. */
export const passesFilter = (filter: string, type: string): boolean =>
  filter.endsWith('*') ? type.startsWith(filter.slice(0, -1)) : type === filter;

const filterSchema = z
  .string()
  .max(100, { abort: true })
  .trim()
  .refine(
    (filter) => /^[^*]*\*?$/.test(filter) && WEBHOOK_EVENT_TYPES.some((type) => passesFilter(filter, type)),
    {
      error: ({ input }) =>
        `${quoted(input)} is neither a type nor, with * at its end, the beginning of one; types are ${WEBHOOK_EVENT_TYPES.join(', ')}`,
    },
  )
  .meta({ anyOf: [{ enum: [...WEBHOOK_EVENT_TYPES] }, { pattern: '^\\s*[a-z.-]*\\*\\s*$' }] });

const urlSchema = z
  .url({ protocol: /^https?$/, error: 'url is an http or https address' })
  .max(URL_LENGTH_MAX);
const typesSchema = boundedList(
  z
    .array(filterSchema, { error: 'types is required: a list of event types' })
    .min(1, { error: 'at least one type is required; "*" means every event' }),
  50,
);

export const createWebhookBodySchema = z
  .object({ url: urlSchema, types: typesSchema })
  .meta({ id: 'CreateWebhook' });

export const updateWebhookBodySchema = z
  .object({ url: urlSchema.optional(), types: typesSchema.optional() })
  .refine(({ url, types }) => url !== undefined || types !== undefined, {
    error: 'at least one of url and types is required',
  })
  .meta({ id: 'UpdateWebhook', anyOf: [required('url'), required('types')] });

/** Where the events of some types go, beside the destination of the settings. */
export const webhookSchema = z
  .object({
    id: idSchema,
    url: z.string(),
    types: z.array(z.string()),
    webhookKey: z.string(),
    previousKeyUntil: instantSchema
      .optional()
      .meta({ description: 'Until then the key before it signs too.' }),
    enabled: z.boolean(),
    status: z.enum(['healthy', 'failing', 'disabled', 'unknown']),
    lastStatusAt: instantSchema.nullable(),
    pending: z.number().int(),
    deadLettered: z.number().int(),
    createdAt: instantSchema,
  })
  .meta({ id: 'Webhook' });
export type WebhookResponse = z.output<typeof webhookSchema>;

/** Hours in which the key before a new one is still good. */
export const KEY_OVERLAP_HOURS = { default: 24, max: 168 } as const;
const HOURS = `overlapHours is a number from 0 to ${KEY_OVERLAP_HOURS.max}`;

export const rotateKeyBodySchema = z
  .object({
    overlapHours: z
      .number({ error: HOURS })
      .min(0, { error: HOURS })
      .max(KEY_OVERLAP_HOURS.max, { error: HOURS })
      .optional(),
  })
  .nullish()
  .transform((body) => ({ overlapHours: body?.overlapHours ?? KEY_OVERLAP_HOURS.default }));
export const rotatedKeySchema = z.object({ webhookKey: z.string(), previousKeyUntil: instantSchema });

/** What to send again; none of it: what is undelivered. */
export const retryWebhooksBodySchema = z
  .object({
    eventId: idSchema.optional().meta({ description: '`meta.messageId` of the event, delivered or not.' }),
    from: instantSchema.optional(),
    to: instantSchema.optional().meta({ description: 'Default: now.' }),
    webhookId: idSchema.optional().meta({ description: 'To this destination only; default every one.' }),
  })
  .meta({
    dependentRequired: { to: ['from'] },
    dependentSchemas: { webhookId: { anyOf: [required('eventId'), required('from')] } },
    not: { ...required('eventId'), anyOf: [required('from'), required('to')] },
  })
  .nullish()
  .transform((body) => body ?? {})
  .superRefine(({ eventId, from, to, webhookId }, context) => {
    const refuse = (path: string, message: string) =>
      context.addIssue({ code: 'custom', path: [path], message });
    if (eventId !== undefined && (from ?? to) !== undefined) refuse('eventId', 'excludes from and to');
    if (to !== undefined && from === undefined) refuse('from', 'is required with to');
    if (from !== undefined && to !== undefined && new Date(from) > new Date(to))
      refuse('to', 'is before from');
    if (webhookId !== undefined && (eventId ?? from) === undefined)
      refuse('webhookId', 'is for events named by eventId, or by from and to');
  });

export const testWebhookBodySchema = z
  .object({
    webhookId: idSchema.optional().meta({ description: 'Default: the destination of the settings.' }),
  })
  .nullish()
  .transform((body) => body ?? {});
