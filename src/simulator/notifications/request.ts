import { z } from 'zod';

export const ENCOUNTER_EVENTS = [
  'admit',
  'transfer',
  'discharge',
  'update',
  'cancel-admit',
  'cancel-transfer',
  'cancel-discharge',
] as const;

const event = z.strictObject({
  event: z.enum([...ENCOUNTER_EVENTS, 'merge', 'fill', 'result']),
  /** When it happened; default: now, each event of a request a second after the one before. */
  at: z.iso.datetime({ offset: true }).optional(),
  /** Ward of an admission or a transfer. */
  location: z.string().max(50).optional(),
  /** Of a merge: the record number that is merged into the person's own. */
  priorRecord: z.string().max(50).optional(),
});

/** Body of `POST /admin/notifications`: what befalls a person, and how the messages about it arrive. */
export const notifyRequest = z.strictObject({
  sample: z.string(),
  /** Fills and results are FHIR in any case, merges HL7 v2. */
  format: z.enum(['hl7v2', 'fhir']).default('hl7v2'),
  /** The same visit is the same encounter, over several requests. */
  visit: z.string().max(50).default('visit-1'),
  /** Record number of the person at this sender; default: one of its own. */
  record: z.string().max(50).optional(),
  /** In the order in which they happened. */
  events: z.array(event).min(1).max(50),
  arrival: z
    .strictObject({
      order: z.enum(['as-happened', 'reversed', 'shuffled']).default('as-happened'),
      /** How often each message is sent, in turn. */
      times: z.int().min(1).max(5).default(1),
      /** Before each message. */
      delayMs: z.int().min(0).max(10_000).default(0),
    })
    .prefault({}),
});
export type NotifyRequest = z.output<typeof notifyRequest>;
export type NotifyInput = z.input<typeof notifyRequest>;
export type NotifiedEvent = NotifyRequest['events'][number] & { at: string };

export const sentMessage = z.object({
  event: z.string(),
  format: z.enum(['hl7v2', 'fhir']),
  /** Of the answer; 0 where there was none. */
  status: z.int(),
  /** AA, AE or AR of the acknowledgement, or the code of the OperationOutcome. */
  answer: z.string().optional(),
});
export type SentMessage = z.output<typeof sentMessage>;
