import { z } from 'zod';
import {
  OPERATIONS,
  type Operation,
  SOURCE_NAMES,
  type SourceName,
} from '../protocol.ts';

const milliseconds = z.int().min(0);

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
]);
export type Fault = z.infer<typeof fault>;
export type FaultType = Fault['type'];

/**
 * The moment at which a fault is taken: before the request is handled, while a
 * patient is matched, on a response with content, or when a job starts (the
 * faults of a job and of its callback are decided then, once). A fault is thus
 * counted only where it has an effect.
 */
export type Phase =
  | 'delay'
  | 'request'
  | 'match'
  | 'answer'
  | 'job'
  | 'callback';

interface Place {
  phase: Phase;
  /**
   * Operations that a rule may name, and those that apply when it names none.
   */
  byDefault: readonly Operation[];
  allowed: readonly Operation[];
}

const requests = OPERATIONS.filter((operation) => operation !== 'callback');
const bundles = ['everything', 'job', 'page', 'search', 'document'] as const;
const content = ['everything', 'job', 'page', 'search'] as const;

const onRequest: Place = {
  phase: 'request',
  byDefault: requests,
  allowed: requests,
};
const onContent: Place = {
  phase: 'answer',
  byDefault: content,
  allowed: requests,
};
const onBundle: Place = {
  phase: 'answer',
  byDefault: content,
  allowed: bundles,
};
const onMatch: Place = {
  phase: 'match',
  byDefault: ['match'],
  allowed: ['match'],
};
const onJob: Place = {
  phase: 'job',
  byDefault: ['job'],
  allowed: ['job', 'everything'],
};
const onCallback: Place = {
  phase: 'callback',
  byDefault: ['callback'],
  allowed: ['callback', 'job'],
};

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

/**
 * A patient is refused where one is asked for, not where a source is asked
 * about itself.
 */
const aboutPatients = requests.filter(
  (operation) => operation !== 'token' && operation !== 'metadata',
);

/** The operations of a rule that names none. */
export const operationsOf = (fault: Fault): readonly Operation[] =>
  fault.type === 'status' && fault.code === 'suppressed'
    ? aboutPatients
    : FAULT_PLACES[fault.type].byDefault;

/** One rule of `PUT /admin/rules`. An absent member matches everything. */
export const faultRule = z
  .strictObject({
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
  })
  .refine(
    (rule) =>
      !rule.operation ||
      FAULT_PLACES[rule.fault.type].allowed.includes(rule.operation),
    {
      error: 'this fault cannot happen at this operation',
      path: ['operation'],
    },
  );
export type FaultRule = z.infer<typeof faultRule>;
/** A rule as input: members with a default are optional. */
export type FaultRuleInput = z.input<typeof faultRule>;

/** A rule with the number of times it has been applied. */
export const countedRule = faultRule.and(z.object({ applied: z.int() }));
export type CountedRule = z.infer<typeof countedRule>;

interface Occasion {
  source: SourceName;
  operation: Operation;
  sample?: string;
}

/** The active rules, in order: the first one that matches is applied. */
export class FaultBook {
  #rules: CountedRule[] = [];

  replace(rules: readonly FaultRule[]): void {
    this.#rules = rules.map((rule) => ({ ...rule, applied: 0 }));
  }

  list(): readonly CountedRule[] {
    return this.#rules;
  }

  /**
   * Returns the fault to apply and counts it; undefined when no rule matches. A
   * fault that `canShow` excludes is not counted.
   */
  take(
    phase: Phase,
    occasion: Occasion,
    canShow: (fault: Fault) => boolean = () => true,
  ): Fault | undefined {
    const rule = this.#rules.find(
      (candidate) =>
        fits(candidate, phase, occasion) && canShow(candidate.fault),
    );
    if (!rule) return undefined;
    rule.applied += 1;
    return rule.fault;
  }
}

function fits(rule: CountedRule, phase: Phase, occasion: Occasion): boolean {
  const place = FAULT_PLACES[rule.fault.type];
  if (place.phase !== phase) return false;
  if (rule.times !== undefined && rule.applied >= rule.times) return false;
  if (rule.source && rule.source !== occasion.source) return false;
  if (rule.sample && rule.sample !== occasion.sample) return false;
  // Faults of jobs and callbacks are taken in one place only, whatever
  // operation the rule names.
  if (phase === 'job' || phase === 'callback') return true;
  return rule.operation
    ? rule.operation === occasion.operation
    : operationsOf(rule.fault).includes(occasion.operation);
}
