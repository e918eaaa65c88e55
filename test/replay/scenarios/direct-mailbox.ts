import type { DirectMailboxActivities } from '../../../src/activities/exchange/direct-mailbox.ts';
import type {
  DirectMailboxInput,
  MailboxRead,
} from '../../../src/contract/direct-mailbox-workflow.ts';
import {
  directMailboxWorkflowId,
  WORKFLOW_TYPES,
} from '../../../src/contract/temporal.ts';
import { inTurn, type Scenario } from './scenario.ts';

const ACCOUNT = '01923e9d-02b4-7f6a-8c11-3f5e9d7a6b21';

export const directMailboxScenarios: Record<string, Scenario> = {
  'direct-mailbox/read-v1': {
    workflowType: WORKFLOW_TYPES.directMailbox,
    workflowId: directMailboxWorkflowId(ACCOUNT),
    args: [{ accountId: ACCOUNT } satisfies DirectMailboxInput],
    taskQueue: 'exchange',
    activities: {
      partners: {
        readDirectMailbox: inTurn<MailboxRead>({
          received: 2,
          known: 0,
          receipts: 1,
          returned: 0,
          ignored: 1,
          isGone: false,
        }),
      } satisfies DirectMailboxActivities,
    },
  },
};
