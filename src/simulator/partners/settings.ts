import { z } from 'zod';

const identitySettings = z.strictObject({
  /** by-page: the person presses a button. at-once: told by itself, `delayMs` after it was opened. */
  verifies: z.enum(['by-page', 'at-once']),
  delayMs: z.int().min(0),
  /** What comes of it; on the page the person may choose to fail. */
  outcome: z.enum(['verified', 'failed', 'somebody-else']),
  /** How often each outcome is told; 0 loses it. */
  callbacks: z.int().min(0).max(5),
  /** Answers every request 503. */
  down: z.boolean(),
});

const messageSettings = z.strictObject({
  /** at-once: the answer says so. later: a callback tells. silently: only who asks learns it. */
  delivers: z.enum(['at-once', 'later', 'silently']),
  delayMs: z.int().min(0),
  outcome: z.enum(['delivered', 'failed', 'refused']),
  callbacks: z.int().min(0).max(5),
  /** Answers the next so many requests 503. */
  downTimes: z.int().min(0),
});

export type IdentitySettings = z.output<typeof identitySettings>;
export type MessageSettings = z.output<typeof messageSettings>;

/** Body of `PUT /admin/partners`: what is not named stays as it is. */
export const partnerSettingsChange = z.strictObject({
  identity: identitySettings.partial().optional(),
  messages: messageSettings.partial().optional(),
});
export type PartnerSettingsChange = z.output<typeof partnerSettingsChange>;

/** How the identity partner and the transport partner behave; changes count from the next request on. */
export class PartnerSettings {
  identity: IdentitySettings = {
    verifies: 'by-page',
    delayMs: 0,
    outcome: 'verified',
    callbacks: 1,
    down: false,
  };
  messages: MessageSettings = {
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
