import {
  type CountedRule,
  type Fault,
  type FaultRule,
  faultRule,
} from '../../../src/local-stack/simulator/faults.ts';
import {
  OPERATIONS,
  type Operation,
  type SourceName,
} from '../../../src/local-stack/simulator/protocol.ts';

type FaultType = Fault['type'];

/**
 * The moment at which a fault is taken: before the request is handled, while a
 * patient is matched, on a response with content, when a job starts (the faults
 * of a job and of its callback are decided then, once), or while the IHE gateway
 * answers. A fault is thus counted only where it has an effect.
 */
export type Phase =
  | 'delay'
  | 'request'
  | 'match'
  | 'answer'
  | 'job'
  | 'callback'
  | 'gateway';

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

const onGateway: Place = {
  phase: 'gateway',
  byDefault: ['match', 'document', 'binary'],
  allowed: ['match', 'document', 'binary'],
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
  gateway: onGateway,
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

/** A rule whose fault can happen at the operation that it names. */
export const applicableRule = faultRule.refine(
  (rule) =>
    !rule.operation ||
    FAULT_PLACES[rule.fault.type].allowed.includes(rule.operation),
  {
    error: 'this fault cannot happen at this operation',
    path: ['operation'],
  },
);

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
