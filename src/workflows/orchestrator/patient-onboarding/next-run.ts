import {
  CancellationScope,
  continueAsNew,
  log,
  patched,
  proxyActivities,
  workflowInfo,
} from '@temporalio/workflow';
import type { PatientOnboardingActivities } from '../../../activities/orchestrator/patient-onboarding.ts';
import { callFailure } from '../../shared/failures.ts';
import type {
  OnboardingRunInput,
  OnboardingState,
  PatientOnboardingWorkflow,
} from './onboarding.ts';

/**
 * Continues as new when Temporal suggests it, and in a run of 0.1.0 whose input
 * still holds the person.
 */
export async function continueIfDue(
  input: OnboardingRunInput,
  state: OnboardingState,
): Promise<void> {
  if (
    input.patient !== undefined &&
    patched('forget-the-person-of-an-open-run')
  )
    await forgetPerson(input, state);
  if (workflowInfo().continueAsNewSuggested)
    await continueAsNew<PatientOnboardingWorkflow>(input, { state });
}

/**
 * Goes on in a run whose input lacks the person, and which deletes the history
 * of this one (decision 200).
 */
export const forgetPerson = (
  { patient: _, ...input }: OnboardingRunInput,
  state: OnboardingState,
): Promise<never> =>
  continueAsNew<PatientOnboardingWorkflow>(input, {
    state: { ...state, forget: workflowInfo().runId },
  });

const { forgetRun } = proxyActivities<PatientOnboardingActivities>({
  startToCloseTimeout: '30s',
  scheduleToCloseTimeout: '1h',
  summary: 'Delete the first run, which held the person’s data',
});

/**
 * Deletes what the run before held of the person, also under a cancellation;
 * never rejects. What cannot be deleted stays as long as Temporal keeps ended
 * runs.
 */
export async function forgetEarlierRun(state: OnboardingState): Promise<void> {
  const { forget: runId } = state;
  if (runId === undefined) return;
  try {
    await CancellationScope.nonCancellable(() => forgetRun({ runId }));
  } catch (error) {
    log.warn('The run with the person’s data could not be deleted', {
      kind: callFailure(error)?.kind,
    });
  }
  state.forget = undefined;
}
