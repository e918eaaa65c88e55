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

/** Body of `PUT /admin/partners`: absent members keep their values. */
export const partnerSettingsChange = z.strictObject({
  identity: identitySettings.partial().optional(),
});
export type PartnerSettingsChange = z.output<typeof partnerSettingsChange>;

/** Behaviour of the identity partner; changes apply from the next request. */
export class PartnerSettings {
  identity: z.output<typeof identitySettings> = {
    verifies: 'by-page',
    delayMs: 0,
    outcome: 'verified',
    callbacks: 1,
    down: false,
  };

  change({ identity }: PartnerSettingsChange): void {
    this.identity = { ...this.identity, ...identity };
  }
}
