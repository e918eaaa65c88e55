import { condition, continueAsNew, workflowInfo } from '@temporalio/workflow';
import {
  DEFAULT_ONBOARDING_TIMING,
  type PatientOnboardingInput,
} from '../../../contract/patient-onboarding.ts';
import { callFailure } from './failures.ts';
import type { Onboarding } from './onboarding.ts';
import type { IdentityPage } from './onboarding-state.ts';
import type { patientOnboarding } from './workflow.ts';

interface Waiting {
  onboarding: Onboarding;
  input: PatientOnboardingInput;
  /** Whether the exchange is asked at all. */
  looks: boolean;
  show: () => void;
}

interface Awaited {
  page: IdentityPage;
  isDone(): boolean;
  summary: string;
  /** Asks the exchange, takes what it says, and answers how far it is. */
  look(id: string): Promise<VerificationState>;
}

export type VerificationState = 'pending' | 'verified' | 'failed' | 'expired';

/** An exchange that says so often in a row that it knows no such thing does not serve the operation. */
const UNKNOWN_MAX = 3;

/**
 * Waits until the person has done what a page asks, by signals, and by looks: soon first, then with longer and longer
 * pauses, and a last one when the page has run out. A look that fails is made up for by the next one.
 */
export async function awaitPerson(
  { onboarding, input, looks, show }: Waiting,
  { page: { id, expiresAtMs }, isDone, summary, look }: Awaited,
): Promise<'done' | 'late' | 'failed'> {
  const leftMs = () => expiresAtMs - Date.now();
  if (!looks || id === undefined)
    return (await condition(isDone, Math.max(leftMs(), 1), { summary })) ? 'done' : 'late';

  const { state } = onboarding;
  const identity = onboarding.identity();
  const { pollFirstMs, pollMaxMs } = { ...DEFAULT_ONBOARDING_TIMING, ...input.timing };
  let pauseMs = pollFirstMs;
  for (let unknown = 0; ; ) {
    const untilMs = unknown < UNKNOWN_MAX ? Math.min(pauseMs, leftMs()) : leftMs();
    await condition(() => isDone() || identity.hasReturned === true, Math.max(untilMs, 1), { summary });
    if (isDone()) return 'done';
    identity.hasReturned = false;
    const isLast = leftMs() <= 0;
    if (workflowInfo().continueAsNewSuggested) await continueAsNew<typeof patientOnboarding>(input, state);
    try {
      state.problem = undefined;
      const status = await look(id);
      unknown = 0;
      if (isDone()) return 'done';
      if (status === 'failed') return 'failed';
      if (status === 'expired') return 'late';
    } catch (error) {
      const failure = callFailure(error);
      if (failure === undefined) throw error;
      if (failure.kind === 'not-found') unknown += 1;
      state.problem = failure.message;
    }
    show();
    if (isLast) return 'late';
    pauseMs = Math.min(pauseMs * 2, pollMaxMs);
  }
}
