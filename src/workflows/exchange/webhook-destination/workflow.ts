import {
  condition,
  continueAsNew,
  defineQuery,
  defineSignal,
  proxyActivities,
  setCurrentDetails,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import type { WebhookActivities } from '../../../activities/exchange/webhook-delivery.ts';
import { TASK_QUEUES } from '../../../contract/temporal.ts';
import {
  WEBHOOK_DESTINATION_MESSAGES as MESSAGES,
  type WebhookDestinationInput,
  type WebhookDestinationProgress,
} from '../../../contract/webhook-destination-workflow.ts';

/**
 * Delivers the webhooks of one destination that could not be delivered at once.
 *
 * Durable because a destination may be down for days. Keyed by account and
 * destination. PostgreSQL holds the events, their attempts and when each is
 * due; this workflow only decides when to look at them again, so a step that
 * runs twice looks twice. It ends when no event is open; `look` starts it
 * again. A signal that arrives while it ends keeps it running. History: about
 * 10 events for each look, continued as new when Temporal suggests it.
 */
export async function webhookDestination(
  input: WebhookDestinationInput,
): Promise<WebhookDestinationProgress> {
  const { accountId, destinationId } = input;
  const { deliverDue } = proxyActivities<WebhookActivities>({
    taskQueue: TASK_QUEUES.webhooks,
    startToCloseTimeout: '1 minute',
    retry: { initialInterval: '1 second', maximumInterval: '1 minute' },
    priority: { fairnessKey: accountId },
    summary: 'Send the events that are due',
  });
  const progress: WebhookDestinationProgress = {
    destinationId,
    state: 'sending',
    delivered: 0,
  };
  let mustLook = false;
  let dueNow = input.dueNow ?? false;
  setHandler(defineQuery<WebhookDestinationProgress>(MESSAGES.status), () => ({
    ...progress,
  }));
  setHandler(defineSignal(MESSAGES.look), () => {
    mustLook = true;
  });
  setHandler(defineSignal(MESSAGES.deliverNow), () => {
    mustLook = true;
    dueNow = true;
  });

  for (;;) {
    const delivery = { accountId, destinationId, dueNow };
    mustLook = false;
    dueNow = false;
    progress.state = 'sending';
    progress.nextAttemptAt = undefined;
    const { look, sent, note } = await deliverDue(delivery);
    progress.delivered += sent;
    progress.lastFailure = note ?? progress.lastFailure;
    if (look.state === 'empty' && !mustLook) {
      progress.state = 'empty';
      setCurrentDetails('No event is waiting');
      return { ...progress };
    }
    if (look.state === 'waiting') {
      const at = new Date(look.untilMs).toISOString();
      const why = look.held
        ? 'the destination fails; one event is sent to try it'
        : 'an event is sent again';
      progress.state = look.held ? 'held' : 'waiting';
      progress.nextAttemptAt = at;
      setCurrentDetails(
        `${at}: ${why}${progress.lastFailure === undefined ? '' : ` (${progress.lastFailure})`}`,
      );
      const waitMs = Math.max(0, look.untilMs - Date.now());
      if (waitMs > 0) await condition(() => mustLook, waitMs, { summary: why });
    }
    if (workflowInfo().continueAsNewSuggested)
      await continueAsNew<typeof webhookDestination>({
        accountId,
        destinationId,
        dueNow,
      });
  }
}
