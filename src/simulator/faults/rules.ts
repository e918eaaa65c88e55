import { z } from 'zod';
import { OPERATIONS, type Operation, SOURCE_NAMES } from '../protocol.ts';

const milliseconds = z.int().min(0);

/** What may go wrong at a source. */
export const fault = z.discriminatedUnion('type', [
  /** Answers with this status and an OperationOutcome, or with `body` as it stands. */
  z.strictObject({
    type: z.literal('status'),
    status: z.int().min(400).max(599),
    body: z.string().optional(),
  }),
  z.strictObject({ type: z.literal('rate-limit'), retryAfterSeconds: z.int().min(0) }),
  /** Takes the request and never answers. */
  z.strictObject({ type: z.literal('hang') }),
  /** Cuts the connection. */
  z.strictObject({ type: z.literal('reset') }),
  z.strictObject({ type: z.literal('latency'), ms: milliseconds }),
  /** The answer, cut in half. */
  z.strictObject({ type: z.literal('broken-json') }),
  /** A page of HTML with status 200. */
  z.strictObject({ type: z.literal('wrong-content-type') }),
  /** A Bundle of about this size, streamed. */
  z.strictObject({ type: z.literal('giant-page'), bytes: z.int().min(1) }),
  /** Mixes resources of another patient into an answer. */
  z.strictObject({ type: z.literal('stray'), count: z.int().min(1).default(1) }),
  /** The `next` link points to somebody else's server. */
  z.strictObject({ type: z.literal('foreign-link'), url: z.url() }),
  /** The `next` link points to the page itself. */
  z.strictObject({ type: z.literal('endless-pages') }),
  /** Answers somebody else, as a certain match. */
  z.strictObject({ type: z.literal('wrong-patient') }),
  z.strictObject({ type: z.literal('unknown-patient') }),
  /** The match is one of two linked Patients. `replaced-by`: all data is at the other one; `seealso`: half of it. */
  z.strictObject({
    type: z.literal('linked-patient'),
    link: z.enum(['replaced-by', 'seealso']).default('seealso'),
  }),
  z.strictObject({ type: z.literal('job-fails'), status: z.int().min(400).max(599).default(500) }),
  z.strictObject({ type: z.literal('job-never-ends') }),
  z.strictObject({ type: z.literal('late-callback'), delayMs: milliseconds }),
  z.strictObject({ type: z.literal('doubled-callback') }),
  z.strictObject({ type: z.literal('no-callback') }),
]);
export type Fault = z.infer<typeof fault>;
export type FaultType = Fault['type'];

/**
 * When a fault is looked for, so that it is used up only where it can show:
 * before the request is handled, while a patient is looked up, on an answer that carries content, or when a job
 * starts (what becomes of a job and its callback is decided then, once).
 */
export type Phase = 'delay' | 'request' | 'match' | 'answer' | 'job' | 'callback';

interface Place {
  phase: Phase;
  /** Operations it may be asked for. The first list is used where the rule names none. */
  byDefault: readonly Operation[];
  allowed: readonly Operation[];
}

const requests = OPERATIONS.filter((operation) => operation !== 'callback');
const bundles = ['everything', 'job', 'page', 'search', 'document'] as const;
const content = ['everything', 'job', 'page', 'search'] as const;

const onRequest: Place = { phase: 'request', byDefault: requests, allowed: requests };
const onContent: Place = { phase: 'answer', byDefault: content, allowed: requests };
const onBundle: Place = { phase: 'answer', byDefault: content, allowed: bundles };
const onMatch: Place = { phase: 'match', byDefault: ['match'], allowed: ['match'] };
const onJob: Place = { phase: 'job', byDefault: ['job'], allowed: ['job', 'everything'] };
const onCallback: Place = { phase: 'callback', byDefault: ['callback'], allowed: ['callback', 'job'] };

export const FAULT_PLACES: Record<FaultType, Place> = {
  status: onRequest,
  'rate-limit': onRequest,
  hang: onRequest,
  reset: onRequest,
  latency: { ...onRequest, phase: 'delay' },
  'broken-json': onContent,
  'wrong-content-type': onContent,
  'giant-page': onContent,
  stray: onBundle,
  'foreign-link': onBundle,
  'endless-pages': onBundle,
  'wrong-patient': onMatch,
  'unknown-patient': onMatch,
  'linked-patient': onMatch,
  'job-fails': onJob,
  'job-never-ends': onJob,
  'late-callback': onCallback,
  'doubled-callback': onCallback,
  'no-callback': onCallback,
};

/** One line of `PUT /admin/rules`. A member that is left out matches everything. */
export const faultRule = z
  .strictObject({
    source: z.enum(SOURCE_NAMES).optional(),
    /** Key of a sample patient; such a rule leaves requests alone that name no patient. */
    sample: z.string().optional(),
    operation: z.enum(OPERATIONS).optional(),
    /** How often it is applied; without it, always. */
    times: z.int().min(1).optional(),
    fault,
  })
  .refine((rule) => !rule.operation || FAULT_PLACES[rule.fault.type].allowed.includes(rule.operation), {
    error: 'this fault cannot happen at this operation',
    path: ['operation'],
  });
export type FaultRule = z.infer<typeof faultRule>;
/** A rule as it may be written: members with a default may be left out. */
export type FaultRuleInput = z.input<typeof faultRule>;
