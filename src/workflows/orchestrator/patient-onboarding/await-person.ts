import { condition, continueAsNew, workflowInfo } from '@temporalio/workflow';
import type { PatientOnboardingInput } from '../../../contract/patient-onboarding.ts';
import { callFailure } from '../../shared/call-failure.ts';
import { UNSTATED } from '../../shared/unstated.ts';
import type { Onboarding } from './onboarding.ts';
import type { IdentityPage, PatientOnboardingWorkflow } from './onboarding-state.ts';

interface Waiting {
  onboarding: Onboarding;
  input: PatientOnboardingInput;
  /** Whether to poll the exchange; otherwise only signals count. */
  polls: boolean;
  show: () => void;
}

interface Awaited {
  page: IdentityPage;
  isDone(): boolean;
  summary: string;
  /** Asks the exchange for the page's state, and stores what it answers. */
  poll(id: string): Promise<IdentityPageState>;
}

/** The state of a verification session or of a challenge of the identity partner. */
export type IdentityPageState = 'pending' | 'verified' | 'failed' | 'expired';

/** After this many 404 responses in a row, we assume that the exchange does not serve the operation. */
const UNKNOWN_MAX = 3;

/**
 * Waits until the person has done what a page asks of them. Learns of it from signals and by polling, less and less often,
 * with a last poll when the page has expired. A failed poll is only noted: the next one makes up for it.
 *
 * @returns `late` when the page expired first, `failed` when the exchange reports a failure
 */
export async function awaitPerson(
  { onboarding, input, polls, show }: Waiting,
  { page: { id, expiresAtMs }, isDone, summary, poll }: Awaited,
): Promise<'done' | 'late' | 'failed'> {
  const leftMs = () => expiresAtMs - Date.now();
  if (!polls || id === undefined)
    return (await condition(isDone, Math.max(leftMs(), 1), { summary })) ? 'done' : 'late';

  const { state } = onboarding;
  const identity = onboarding.identity();
  const { pollFirstMs, pollMaxMs } = { ...UNSTATED.onboarding, ...input.timing };
  let pauseMs = pollFirstMs;
  for (let unknown = 0; ; ) {
    const untilMs = unknown < UNKNOWN_MAX ? Math.min(pauseMs, leftMs()) : leftMs();
    await condition(() => isDone() || identity.hasReturned === true, Math.max(untilMs, 1), { summary });
    if (isDone()) return 'done';
    identity.hasReturned = false;
    const isLast = leftMs() <= 0;
    if (workflowInfo().continueAsNewSuggested) await continueAsNew<PatientOnboardingWorkflow>(input, state);
    try {
      state.problem = undefined;
      const status = await poll(id);
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
