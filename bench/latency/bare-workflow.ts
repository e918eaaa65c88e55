import { proxyActivities } from '@temporalio/workflow';
import type { BareActivities } from './bare.ts';

const { announce } = proxyActivities<BareActivities>({
  startToCloseTimeout: '1 minute',
});

/** The floor: one activity, which sends one request. */
export async function bareQuery(requestId: string): Promise<void> {
  await announce(requestId);
}
