import { z } from 'zod';
import { gatewayNetwork } from './network.ts';

/** The mailbox of the stack's account in the simulated mail system. */
export const SIMULATED_MAILBOX = {
  address: 'records@direct.exchange.example',
  user: 'exchange',
} as const;

/** What may be wrong with the documents of a message, and what comes of it. */
export const DOCUMENT_TROUBLES = {
  'wrong-hash': 'the first document has another hash than its metadata say',
  'wrong-size': 'the first document has another size than its metadata say',
  'missing-document': 'the metadata name one more document than there are',
  'two-sets': 'there are two submission sets',
  damaged: 'the package ends early (--package only)',
} as const;
export type DocumentTrouble = keyof typeof DOCUMENT_TROUBLES;
export const DOCUMENT_TROUBLE_NAMES = Object.keys(
  DOCUMENT_TROUBLES,
) as DocumentTrouble[];

/** A message of another provider. */
const message = {
  /** The same id is the same message. */
  messageId: z.string().min(1).max(200),
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
  trouble: z.enum(DOCUMENT_TROUBLE_NAMES).optional(),
};

/**
 * Body of `POST /admin/letters`: a Direct message of another provider, which the
 * simulator puts into the inbox of the exchange.
 */
export const letterRequest = z.strictObject({
  ...message,
  from: z.string(),
  to: z.string(),
  /** Its attachments are in a package of documents (XDM). */
  isPackage: z.boolean().optional(),
  /** How many times it is delivered. */
  times: z.int().min(1).max(500),
});
export type LetterInput = z.input<typeof letterRequest>;

/**
 * Body of `POST /admin/gateway/submit`: a message of another provider, which the
 * simulator sends by XDR, as a member of a network.
 */
export const submissionRequest = z.strictObject({
  ...message,
  network: gatewayNetwork,
  /** OID of the organization that it is for. */
  to: z.string(),
});
export type SubmissionInput = z.input<typeof submissionRequest>;

/** What the gateway said to it: IHE's codes, and its words for people. */
export const answeredSubmission = z.object({
  outcome: z.string(),
  problems: z.array(
    z.object({ code: z.string(), reason: z.string().optional() }),
  ),
});
export type AnsweredSubmission = z.infer<typeof answeredSubmission>;
