import type { Operation, SourceName } from '../protocol.ts';
import { FAULT_PLACES, type Fault, type FaultRule, type Phase } from './rules.ts';

export interface Occasion {
  source: SourceName;
  operation: Operation;
  sample?: string;
}

export interface CountedRule extends FaultRule {
  /** How often it has been applied. */
  applied: number;
}

/** The rules in force, in order: the first one that fits an occasion is applied. */
export class FaultBook {
  #rules: CountedRule[] = [];

  replace(rules: readonly FaultRule[]): void {
    this.#rules = rules.map((rule) => ({ ...rule, applied: 0 }));
  }

  list(): readonly CountedRule[] {
    return this.#rules;
  }

  /** The fault due now, counted as applied; undefined where all is to go well. What cannot show is not used up. */
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
  // What becomes of a job or callback is decided in one place, whatever operation the rule named.
  if (phase === 'job' || phase === 'callback') return true;
  return rule.operation
    ? rule.operation === occasion.operation
    : place.byDefault.includes(occasion.operation);
}
