import {
  ActivityFailure,
  condition,
  defineQuery,
  defineSignal,
  isCancellation,
  patched,
  proxyActivities,
  setCurrentDetails,
  setHandler,
  upsertSearchAttributes,
} from '@temporalio/workflow';
import type { MessageActivities } from '../../../activities/exchange/messages.ts';
import {
  MESSAGE_TRANSMISSION_MESSAGES as MESSAGES,
  type MessageTransmissionInput,
  type MessageTransmissionProgress,
  MESSAGE_END_REASONS as REASONS,
  type TransmissionStep,
} from '../../../contract/messages-workflow.ts';
import { TASK_QUEUES } from '../../../contract/temporal.ts';
import { searchAttribute } from '../../../temporal/search-attributes.ts';
import { endAfter, rowActivities } from '../../shared/failures.ts';
import { backOff } from '../../shared/work-in-pages.ts';

const { transmitMessage } = proxyActivities<
  Pick<MessageActivities, 'transmitMessage'>
>({
  taskQueue: TASK_QUEUES.partners,
  // 20 MB at 128 kB a second, and twice the time for an answer.
  startToCloseTimeout: '6 minutes',
  heartbeatTimeout: '15 seconds',
  scheduleToCloseTimeout: '24 hours',
  retry: { initialInterval: '2 seconds', maximumInterval: '30 minutes' },
  summary: 'Hand the message over',
});
/** Gives up after five attempts: the next check makes up for a failed one. */
const { checkTransmission } = proxyActivities<
  Pick<MessageActivities, 'checkTransmission'>
>({
  taskQueue: TASK_QUEUES.partners,
  startToCloseTimeout: '1 minute',
  heartbeatTimeout: '15 seconds',
  retry: {
    initialInterval: '2 seconds',
    maximumInterval: '1 minute',
    maximumAttempts: 5,
  },
  summary: 'Look for its notification',
});
const { failTransmission } = rowActivities<
  Pick<MessageActivities, 'failTransmission'>
>('End the message as failed');

const CHECK_FIRST_MS = 60_000;
const CHECK_MAX_MS = 3_600_000;
/**
 * The receipt may lie ready when we or the mailbox are away at the deadline:
 * the last check is repeated for so long.
 */
const LAST_CHECK_MS = 24 * CHECK_MAX_MS;

/**
 * Transmits a message to another provider and announces the outcome
 * (`message.status`).
 *
 * Durable because networks may be down for hours, and confirm delivery days
 * later. Keyed by the message id. The message's row in PostgreSQL is the source
 * of truth, and whoever receives it can know it by its id, so every step may run
 * twice. History: about 15 events, plus 10 for each check of
 * the status, of which there are at most 80.
 */
export async function messageTransmission(
  input: MessageTransmissionInput,
): Promise<MessageTransmissionProgress> {
  const { messageId } = input;
  let progress: MessageTransmissionProgress = { messageId, state: 'sending' };
  let hasReceipt = false;
  setHandler(
    defineQuery<MessageTransmissionProgress>(MESSAGES.status),
    () => progress,
  );
  setHandler(defineSignal(MESSAGES.receipt), () => {
    hasReceipt = true;
  });
  const show = (step: TransmissionStep, text: string): void => {
    progress = { messageId, ...step };
    setCurrentDetails(text);
  };

  async function untilEnded(): Promise<TransmissionStep> {
    let step = await transmitMessage(input);
    const deadlineAt = Date.now() + input.receiptWithinMs;
    for (let checks = 0; step.state === 'waiting'; checks++) {
      show(step, 'Handed over; waiting for the notification');
      const waitMs = backOff(checks, CHECK_FIRST_MS, CHECK_MAX_MS);
      const leftMs = deadlineAt - Date.now();
      await condition(
        () => hasReceipt,
        leftMs > 0 ? Math.min(waitMs, leftMs) : waitMs,
        {
          summary: 'wait for the receipt, then check the status',
        },
      );
      hasReceipt = false;
      let unanswered = false;
      step = await checkTransmission(input).catch((error: unknown) => {
        unanswered = true;
        return stillWaiting(error);
      });
      const isOver = step.state === 'waiting' && Date.now() >= deadlineAt;
      const isLast = Date.now() >= deadlineAt + LAST_CHECK_MS || !unanswered;
      if (isOver && (isLast || !patched('a-last-check-is-answered')))
        return failTransmission({ ...input, reason: REASONS.noReceipt });
    }
    return step;
  }

  setCurrentDetails('Handing the message over');
  const end = await untilEnded().catch((error: unknown) =>
    endAfter(error, (byOperator) =>
      failTransmission({
        ...input,
        reason: byOperator ? REASONS.byOperator : REASONS.notHandedOver,
      }),
    ),
  );
  show(
    end,
    end.state === 'failed'
      ? `**Failed**: ${end.reason}`
      : `**${DESCRIPTION[end.state]}**`,
  );
  upsertSearchAttributes([
    {
      key: searchAttribute.queryStatus,
      value: end.state === 'completed' ? 'completed' : 'failed',
    },
  ]);
  return progress;
}

function stillWaiting(error: unknown): TransmissionStep {
  if (error instanceof ActivityFailure && !isCancellation(error))
    return { state: 'waiting' };
  throw error;
}

const DESCRIPTION = {
  completed: 'Delivered',
  gone: 'The patient was deleted',
  waiting: 'Waiting',
} as const;
