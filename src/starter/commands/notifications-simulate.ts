import { createSimulatorAdmin } from '../../simulator/admin-client.ts';
import { EXIT } from '../exit-codes.ts';
import { findSample } from '../input/patients.ts';
import type { SimulatedEvent } from '../input/simulated-events.ts';
import { renderTable } from '../table.ts';
import { requireStack } from '../target/target.ts';
import type { CommandResult } from '../terminal.ts';
import type { CommandContext, CommonOptions } from './command.ts';
import { whyNoWebhook } from './why-no-webhook.ts';

export interface NotificationSimulateOptions extends CommonOptions {
  visit: string;
  format: 'hl7v2' | 'fhir';
  order: 'as-happened' | 'reversed' | 'shuffled';
  times: number;
}

/**
 * Makes the stack's simulator send notifications to the gateway. Reports the response to each message, and why no webhook
 * follows, if none does. Throws UsageError.
 */
export async function notificationsSimulate(
  sample: string,
  events: readonly SimulatedEvent[],
  { visit, format, order, times }: NotificationSimulateOptions,
  { target }: CommandContext,
): Promise<CommandResult> {
  const { simulatorUrl, simulatorAdminToken } = requireStack(target).connection;
  const patient = findSample(sample);
  const messages = await createSimulatorAdmin(simulatorUrl, simulatorAdminToken).notify({
    ...{ sample, visit, format },
    events: events.map((event) => ({ event })),
    arrival: { order, times },
  });
  const rows = messages.map((message) => [
    ...[message.event, message.format, String(message.status), message.answer ?? ''],
  ]);
  const notes = await whyNoWebhook(target.exchange, patient, events);
  return {
    exitCode: messages.every(({ status }) => status === 200) ? EXIT.done : EXIT.error,
    lines: [...renderTable(['event', 'format', 'status', 'response'], rows), '', ...notes, SEE_LIST],
    document: { command: 'notifications simulate', messages, notes },
  };
}

const SEE_LIST =
  'See the notifications of this account with: npm run starter -- notifications list. What they report is in the record a few seconds later: npm run starter -- records <patientId>';
