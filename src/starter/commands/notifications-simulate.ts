import { createSimulatorAdmin } from '../../simulator/admin-client.ts';
import { ENCOUNTER_EVENTS } from '../../simulator/notifications/request.ts';
import { UsageError } from '../errors.ts';
import { EXIT } from '../exit-codes.ts';
import { renderTable } from '../table.ts';
import type { CommandResult } from '../terminal.ts';
import type { CommandContext, CommonOptions } from './command.ts';

export const SIMULATED_EVENTS = [...ENCOUNTER_EVENTS, 'fill', 'result'] as const;
export type SimulatedEvent = (typeof SIMULATED_EVENTS)[number];

export interface NotificationSimulateOptions extends CommonOptions {
  visit: string;
  format: 'hl7v2' | 'fhir';
  order: 'as-happened' | 'reversed' | 'shuffled';
  times: number;
}

/** Has the simulator of the running stack tell the gateway; how each message was answered. */
export async function notificationsSimulate(
  sample: string,
  events: readonly SimulatedEvent[],
  { visit, format, order, times }: NotificationSimulateOptions,
  { target }: CommandContext,
): Promise<CommandResult> {
  if (target.stack === undefined)
    throw new UsageError('Only a running stack has a simulator; leave --base-url out.');
  const { simulatorUrl, simulatorAdminToken } = target.stack.connection;
  const messages = await createSimulatorAdmin(simulatorUrl, simulatorAdminToken).notify({
    ...{ sample, visit, format },
    events: events.map((event) => ({ event })),
    arrival: { order, times },
  });
  const rows = messages.map((message) => [
    ...[message.event, message.format, String(message.status), message.answer ?? ''],
  ]);
  return {
    exitCode: messages.every(({ status }) => status === 200) ? EXIT.done : EXIT.error,
    lines: renderTable(['event', 'format', 'status', 'answer'], rows),
    document: { command: 'notifications simulate', messages },
  };
}
