import { z } from 'zod';
import { OPERATIONS, SOURCE_NAMES } from './protocol.ts';

const milliseconds = z.int().min(0);

/**
 * What the IHE gateway of a source can be made to do, beside what any source
 * can.
 */
export const GATEWAY_TROUBLES = [
  /** Its error codes for "try again later". */
  'busy',
  /** A list or a retrieval of which a part is missing, and said to be. */
  'partial',
  /** One document of those asked for, without an error. */
  'one-of-ten',
  /** A page of HTML under status 200. */
  'html',
  /** Status 200 and nothing. */
  'empty',
  /** A SOAP fault whose reason names a person. */
  'fault',
  /** The first half of an answer, as when the line breaks. */
  'cut',
  /** Documents of a home community that was not asked. */
  'wrong-home',
  /** Another document beside those asked for. */
  'stranger',
  /** Two patients of one community match. */
  'candidates',
  /** Two communities know the patient. */
  'communities',
  /** Asks for address and telephone before it answers. */
  'more-attributes',
  /** Accepts a question and says that its query failed: AA with QE. */
  'query-error',
] as const;
export type GatewayTrouble = (typeof GATEWAY_TROUBLES)[number];

/** The faults that can be injected at a source. */
export const fault = z.discriminatedUnion('type', [
  /**
   * Responds with this status and an OperationOutcome (issue code `code`), or
   * with `body` unchanged.
   */
  z.strictObject({
    type: z.literal('status'),
    status: z.int().min(400).max(599),
    /**
     * With 403, `suppressed` refuses this patient (consent); without it, the
     * caller's credentials are refused.
     */
    code: z.enum(['exception', 'suppressed']).default('exception'),
    body: z.string().optional(),
  }),
  z.strictObject({
    type: z.literal('rate-limit'),
    retryAfterSeconds: z.int().min(0),
  }),
  /** Accepts the request and never responds. */
  z.strictObject({ type: z.literal('hang') }),
  /** Resets the connection. */
  z.strictObject({ type: z.literal('reset') }),
  z.strictObject({ type: z.literal('latency'), ms: milliseconds }),
  /** The first half of the response. */
  z.strictObject({ type: z.literal('broken-json') }),
  /** An HTML page with status 200. */
  z.strictObject({ type: z.literal('wrong-content-type') }),
  /** A Bundle of about this size, streamed. */
  z.strictObject({ type: z.literal('giant-page'), bytes: z.int().min(1) }),
  /** Adds resources of another patient to a response. */
  z.strictObject({
    type: z.literal('stray'),
    count: z.int().min(1).default(1),
  }),
  /** The `next` link points to a server of another origin. */
  z.strictObject({ type: z.literal('foreign-link'), url: z.url() }),
  /** The `next` link points to the page itself. */
  z.strictObject({ type: z.literal('endless-pages') }),
  /** Returns another patient as a certain match. */
  z.strictObject({ type: z.literal('wrong-patient') }),
  z.strictObject({ type: z.literal('unknown-patient') }),
  /**
   * Returns one of two linked Patients. `replaced-by`: the other one has all
   * data; `seealso`: each has half of it.
   */
  z.strictObject({
    type: z.literal('linked-patient'),
    link: z.enum(['replaced-by', 'seealso']).default('seealso'),
  }),
  z.strictObject({
    type: z.literal('job-fails'),
    status: z.int().min(400).max(599).default(500),
  }),
  z.strictObject({ type: z.literal('job-never-ends') }),
  z.strictObject({ type: z.literal('late-callback'), delayMs: milliseconds }),
  z.strictObject({ type: z.literal('doubled-callback') }),
  z.strictObject({ type: z.literal('no-callback') }),
  z.strictObject({
    type: z.literal('gateway'),
    trouble: z.enum(GATEWAY_TROUBLES),
  }),
]);
export type Fault = z.infer<typeof fault>;

/** One rule of `PUT /admin/rules`. An absent member matches everything. */
export const faultRule = z.strictObject({
  source: z.enum(SOURCE_NAMES).optional(),
  /**
   * Key of a sample patient; such a rule does not apply to requests that name
   * no patient.
   */
  sample: z.string().optional(),
  operation: z.enum(OPERATIONS).optional(),
  /** How many times it is applied; default: without limit. */
  times: z.int().min(1).optional(),
  fault,
});
export type FaultRule = z.infer<typeof faultRule>;
/** A rule as input: members with a default are optional. */
export type FaultRuleInput = z.input<typeof faultRule>;

/** A rule with the number of times it has been applied. */
export const countedRule = faultRule.extend({ applied: z.int() });
export type CountedRule = z.infer<typeof countedRule>;
