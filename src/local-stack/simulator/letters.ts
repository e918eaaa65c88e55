import { z } from 'zod';

/** The mailbox of the stack's account in the simulated mail system. */
export const SIMULATED_MAILBOX = {
  address: 'records@direct.exchange.example',
  user: 'exchange',
} as const;

/**
 * Body of `POST /admin/letters`: a Direct message of another provider, which the
 * simulator puts into the inbox of the exchange.
 */
export const letterRequest = z.strictObject({
  /** The same id is the same message. */
  messageId: z.string().min(1).max(200),
  from: z.string(),
  to: z.string(),
  subject: z.string(),
  body: z.string(),
  /** Whom it is about, by the names of the Direct context. */
  patient: z.record(z.string(), z.string()).optional(),
  attachments: z.array(
    z.strictObject({
      fileName: z.string(),
      contentType: z.string(),
      content: z.base64(),
    }),
  ),
  /** How many times it is delivered. */
  times: z.int().min(1).max(500),
});
export type LetterInput = z.input<typeof letterRequest>;
