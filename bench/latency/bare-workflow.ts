import { proxyActivities } from '@temporalio/workflow';

const { announce } = proxyActivities<{
  announce(requestId: string): Promise<void>;
}>({
  startToCloseTimeout: '1 minute',
});

/** The floor: one activity, which sends one request. */
export async function bareQuery(requestId: string): Promise<void> {
  await announce(requestId);
}
