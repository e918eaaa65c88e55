import { z } from 'zod';

const identitySettings = z.strictObject({
  /**
   * `by-page`: the patient presses a button. `at-once`: the outcome is reported
   * `delayMs` after the session was opened.
   */
  verifies: z.enum(['by-page', 'at-once']),
  delayMs: z.int().min(0),
  /**
   * Outcome of the verification; on the page, the patient can also choose to
   * fail.
   */
  outcome: z.enum(['verified', 'failed', 'somebody-else']),
  /** How many times each outcome is reported; 0: the callback is lost. */
  callbacks: z.int().min(0).max(5),
  /** Responds to every request with 503. */
  down: z.boolean(),
});

const messageSettings = z.strictObject({
  /**
   * Where the outcome is reported: `at-once` in the response, `later` by a
   * callback, `silently` only when polled.
   */
  delivers: z.enum(['at-once', 'later', 'silently']),
  delayMs: z.int().min(0),
  outcome: z.enum(['delivered', 'failed', 'refused']),
  callbacks: z.int().min(0).max(5),
  /** Responds with 503 to this many further requests. */
  downTimes: z.int().min(0),
});

/** Body of `PUT /admin/partners`: absent members keep their values. */
export const partnerSettingsChange = z.strictObject({
  identity: identitySettings.partial().optional(),
  messages: messageSettings.partial().optional(),
});
export type PartnerSettingsChange = z.output<typeof partnerSettingsChange>;

/**
 * Behaviour of the identity partner and the transport partner; changes apply
 * from the next request.
 */
export class PartnerSettings {
  identity: z.output<typeof identitySettings> = {
    verifies: 'by-page',
    delayMs: 0,
    outcome: 'verified',
    callbacks: 1,
    down: false,
  };
  messages: z.output<typeof messageSettings> = {
    delivers: 'later',
    delayMs: 200,
    outcome: 'delivered',
    callbacks: 1,
    downTimes: 0,
  };

  change({ identity, messages }: PartnerSettingsChange): void {
    this.identity = { ...this.identity, ...identity };
    this.messages = { ...this.messages, ...messages };
  }
}
