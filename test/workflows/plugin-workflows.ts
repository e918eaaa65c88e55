import { proxyActivities } from '@temporalio/workflow';

export {
  bulkOnboarding,
  cohortMonitoring,
  patientOnboarding,
} from '../../src/library/workflows.ts';

const { failFor } = proxyActivities<{ failFor(name: string): Promise<void> }>({
  startToCloseTimeout: '10 s',
  retry: { maximumAttempts: 1 },
});

/**
 * A workflow of a user of the library, whose own code puts a name into a
 * failure.
 */
export async function ownWorkflow(name: string): Promise<string> {
  await failFor(name).catch(() => undefined);
  return `done for ${name}`;
}
