import type { FollowUpActivities } from '../../../src/activities/exchange/discharge-follow-up.ts';
import {
  DISCHARGE_FOLLOW_UP_MESSAGES,
  type DischargeFollowUpInput,
  FOLLOW_UP_PLAN,
  type FollowUpStep,
} from '../../../src/contract/discharge-follow-up-workflow.ts';
import {
  dischargeFollowUpWorkflowId,
  WORKFLOW_TYPES,
} from '../../../src/contract/temporal.ts';
import { ACCOUNT_ID, inTurn, type Scenario } from './scenario.ts';

const NOTIFICATION_ID = '01900000-0000-7000-8000-0000000000f1';
/** So long past that every round is due at once. */
const LONG_PAST = '2020-01-01T00:00:00.000Z';
const input = (startedAt: string): DischargeFollowUpInput => ({
  accountId: ACCOUNT_ID,
  notificationId: NOTIFICATION_ID,
  startedAt,
  plan: FOLLOW_UP_PLAN,
});
const open = (isQueryRunning: boolean): FollowUpStep => ({
  state: 'open',
  isQueryRunning,
});
const ended = (state: FollowUpStep['state'], reason: string): FollowUpStep => ({
  state,
  reason,
  isQueryRunning: false,
});

const scenario = (
  startedAt: string,
  activities: FollowUpActivities,
  meanwhile?: Scenario['meanwhile'],
): Scenario => ({
  workflowType: WORKFLOW_TYPES.dischargeFollowUp,
  workflowId: dischargeFollowUpWorkflowId(NOTIFICATION_ID),
  args: [input(startedAt)],
  activities: { exchange: activities },
  meanwhile,
});

export const dischargeFollowUpScenarios: Record<string, Scenario> = {
  'discharge-follow-up/all-rounds-without-new-data-v1': scenario(LONG_PAST, {
    askAfterDischarge: inTurn(open(true), open(false)),
    lookAfterDischarge: inTurn(open(false)),
    endFollowUp: inTurn(
      ended('no-new-data', 'The last query has brought nothing new'),
    ),
  }),
  'discharge-follow-up/new-data-v1': scenario(LONG_PAST, {
    askAfterDischarge: inTurn(
      open(false),
      ended('new-data', '3 resources were new'),
    ),
    lookAfterDischarge: inTurn(open(false)),
    endFollowUp: inTurn(ended('cancelled', 'never asked')),
  }),
  'discharge-follow-up/woken-and-cancelled-v1': scenario(
    '2126-01-01T00:00:00.000Z',
    {
      askAfterDischarge: inTurn(open(false)),
      lookAfterDischarge: inTurn(open(false)),
      endFollowUp: inTurn(ended('cancelled', 'Cancelled on request')),
    },
    async (handle) => {
      await handle.signal(DISCHARGE_FOLLOW_UP_MESSAGES.look);
      await new Promise((resolve) => setTimeout(resolve, 500));
      await handle.executeUpdate<void, []>(DISCHARGE_FOLLOW_UP_MESSAGES.cancel);
    },
  ),
};
