import { ExchangeCallError } from '../../orchestrator/client/failures.ts';
import type { OnboardingHandle } from '../../orchestrator/patient-onboarding/start-onboarding.ts';
import type { Subject } from '../input/arguments.ts';
import { QueryReader, type QueryView } from '../progress/query-view.ts';
import { type Onboardings, openOnboardings } from './onboardings.ts';
import type { Env, Target } from './target.ts';

export type FoundSubject =
  | { kind: 'query'; query: QueryView }
  | { kind: 'onboarding'; onboardings: Onboardings; handle: OnboardingHandle; workflowId: string };

/**
 * Finds the query of an id, else returns the handle of an onboarding, which may not exist: its first use then throws
 * WorkflowNotFoundError. Throws ExchangeCallError, ConfigError.
 */
export async function findSubject(target: Target, { kind, id }: Subject, env?: Env): Promise<FoundSubject> {
  if (kind === 'onboarding') return findOnboarding(target, id, env);
  try {
    return { kind: 'query', query: await new QueryReader(target.exchange).read(id) };
  } catch (error) {
    if (kind === 'query' || !(error instanceof ExchangeCallError) || error.kind !== 'not-found') throw error;
    const canAskTemporal = target.stack !== undefined;
    if (!canAskTemporal) throw error;
    return findOnboarding(target, id, env);
  }
}

async function findOnboarding(target: Target, job: string, env: Env | undefined): Promise<FoundSubject> {
  const onboardings = await openOnboardings(target, env);
  return { kind: 'onboarding', onboardings, ...onboardings.find(job) };
}
