import type { Operation, SourceName } from '../protocol.ts';
import {
  type CountedRule,
  FAULT_PLACES,
  type Fault,
  type FaultRule,
  operationsOf,
  type Phase,
} from './rules.ts';

export interface Occasion {
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
   * Returns the fault to apply and counts it; undefined when no rule matches. A fault that `canShow` excludes is not
   * counted.
   */
  take(phase: Phase, occasion: Occasion, canShow: (fault: Fault) => boolean = () => true): Fault | undefined {
    const rule = this.#rules.find(
      (candidate) => fits(candidate, phase, occasion) && canShow(candidate.fault),
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
  // Faults of jobs and callbacks are taken in one place only, whatever operation the rule names.
  if (phase === 'job' || phase === 'callback') return true;
  return rule.operation
    ? rule.operation === occasion.operation
    : operationsOf(rule.fault).includes(occasion.operation);
}
