import {
  ActivityFailure,
  CancellationScope,
  condition,
  defineQuery,
  defineSignal,
  isCancellation,
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
import { searchAttribute } from '../../../temporal/search-attributes.ts';

const { transmitMessage } = proxyActivities<Pick<MessageActivities, 'transmitMessage'>>({
  startToCloseTimeout: '2 minutes',
  heartbeatTimeout: '15 seconds',
  scheduleToCloseTimeout: '24 hours',
  retry: { initialInterval: '2 seconds', maximumInterval: '30 minutes' },
  summary: 'Hand the message over',
});
/** What cannot be asked now is asked at the next round. */
const { checkTransmission } = proxyActivities<Pick<MessageActivities, 'checkTransmission'>>({
  startToCloseTimeout: '1 minute',
  heartbeatTimeout: '15 seconds',
  retry: { initialInterval: '2 seconds', maximumInterval: '1 minute', maximumAttempts: 5 },
  summary: 'Ask what became of it',
});
const { failTransmission } = proxyActivities<Pick<MessageActivities, 'failTransmission'>>({
  startToCloseTimeout: '30 seconds',
  retry: { initialInterval: '500ms', maximumInterval: '30 seconds' },
  summary: 'End the message as failed',
});

const RECEIPT_WITHIN_MS = 3 * 24 * 3_600_000;
const ASK_FIRST_MS = 60_000;
const ASK_MAX_MS = 3_600_000;

/**
 * Brings a message to another provider and announces how it ended (`message.status`).
 *
 * Durable because networks are away for hours and confirm after days. Keyed by the message's id; the message's row in
 * PostgreSQL is the truth, and the transport partner knows a message by the same id, so every step may run twice. About
 * 15 history events, 10 more for each time it has to ask, 80 times at most.
 */
export async function messageTransmission(
  input: MessageTransmissionInput,
): Promise<MessageTransmissionProgress> {
  const { messageId } = input;
  let progress: MessageTransmissionProgress = { messageId, state: 'sending' };
  let hasReceipt = false;
  setHandler(defineQuery<MessageTransmissionProgress>(MESSAGES.status), () => progress);
  setHandler(defineSignal(MESSAGES.receipt), () => {
    hasReceipt = true;
  });
  const show = (step: TransmissionStep, text: string): void => {
    progress = { messageId, ...step };
    setCurrentDetails(text);
  };

  async function untilEnded(): Promise<TransmissionStep> {
    let step = await transmitMessage(input);
    const deadlineAt = Date.now() + RECEIPT_WITHIN_MS;
    for (let waitMs = ASK_FIRST_MS; step.state === 'waiting'; waitMs = Math.min(waitMs * 2, ASK_MAX_MS)) {
      show(step, 'Handed over; waiting for its receipt');
      const leftMs = Math.max(deadlineAt - Date.now(), 1);
      await condition(() => hasReceipt, Math.min(waitMs, leftMs), {
        summary: 'wait for its receipt, else ask',
      });
      hasReceipt = false;
      step = await checkTransmission(input).catch(stillWaiting);
      if (step.state === 'waiting' && Date.now() >= deadlineAt)
        return failTransmission({ ...input, reason: REASONS.noReceipt });
    }
    return step;
  }

  setCurrentDetails('Handing the message over');
  const end = await untilEnded().catch(async (error: unknown) => {
    if (isCancellation(error)) {
      await CancellationScope.nonCancellable(() =>
        failTransmission({ ...input, reason: REASONS.byOperator }),
      );
      throw error;
    }
    // A bug: fail the workflow task, so that a corrected worker goes on from here.
    if (!(error instanceof ActivityFailure)) throw error;
    return failTransmission({ ...input, reason: REASONS.notHandedOver });
  });
  show(end, end.state === 'failed' ? `**Failed**: ${end.reason}` : `**${TOLD[end.state]}**`);
  upsertSearchAttributes([
    { key: searchAttribute.queryStatus, value: end.state === 'completed' ? 'completed' : 'failed' },
  ]);
  return progress;
}

function stillWaiting(error: unknown): TransmissionStep {
  if (error instanceof ActivityFailure && !isCancellation(error)) return { state: 'waiting' };
  throw error;
}

const TOLD = { completed: 'Delivered', gone: 'The patient was deleted', waiting: 'Waiting' } as const;
