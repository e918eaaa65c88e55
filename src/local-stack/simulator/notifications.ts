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
  /**
   * Time of the event; default: the last event is now, the others each a second
   * earlier.
   */
  at: z.iso.datetime({ offset: true }).optional(),
  /** Ward of an admission or a transfer. */
  location: z.string().max(50).optional(),
  /** For `merge`: the record number that is merged into the patient's own. */
  priorRecord: z.string().max(50).optional(),
});

/**
 * Body of `POST /admin/notifications`: events about a patient, and how their
 * messages arrive.
 */
export const notifyRequest = z.strictObject({
  sample: z.string(),
  /** Merges are always HL7 v2. */
  format: z.enum(['hl7v2', 'fhir']).default('hl7v2'),
  /**
   * Name of the encounter; requests with the same name are about the same
   * encounter.
   */
  visit: z.string().max(50).default('visit-1'),
  /**
   * The patient's record number at this sender; default: derived from the
   * sample.
   */
  record: z.string().max(50).optional(),
  /** In chronological order. */
  events: z.array(event).min(1).max(50),
  arrival: z
    .strictObject({
      order: z
        .enum(['as-happened', 'reversed', 'shuffled'])
        .default('as-happened'),
      /** How many times each message is sent, in succession. */
      times: z.int().min(1).max(5).default(1),
      /** Delay before each message. */
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
  /** HTTP status of the response; 0 when there was none. */
  status: z.int(),
  /**
   * Acknowledgement code (AA, AE, AR), or the issue code of the
   * OperationOutcome.
   */
  answer: z.string().optional(),
});
export type SentMessage = z.output<typeof sentMessage>;
