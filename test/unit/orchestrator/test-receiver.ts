import { pino } from 'pino';
import { createReceiver } from '../../../src/orchestrator/receiver/app.ts';
import { MessageLog } from '../../../src/orchestrator/receiver/message-log.ts';
import type { ReceiverOnboardings } from '../../../src/orchestrator/receiver/onboardings.ts';

/** A receiver whose onboardings know nothing but what is given. */
export async function createTestReceiver(
  known: Partial<ReceiverOnboardings>,
  intakeKeys: string[] = [],
) {
  const onboardings: ReceiverOnboardings = {
    signalSourceEnd: async () => false,
    signalVerified: async () => false,
    signalReturned: async () => false,
    signalConfirmed: async () => false,
    signalBulkCreate: async () => false,
    start: async () => '',
    isReachable: async () => true,
    ...known,
  };
  return createReceiver({
    onboardings,
    messages: await MessageLog.open(undefined),
    webhookKeys: [],
    intakeKeys,
    logger: pino({ level: 'silent' }),
  });
}
