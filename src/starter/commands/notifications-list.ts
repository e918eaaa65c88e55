import { EXIT } from '../exit-codes.ts';
import { renderTable } from '../table.ts';
import type { CommandResult } from '../terminal.ts';
import type { CommandContext, CommonOptions } from './command.ts';

export interface NotificationListOptions extends CommonOptions {
  patient?: string;
  count: number;
}

const HEAD = ['notification', 'type', 'patient', 'happened', 'status', 'follow-up'];

/** What the account was told, without the links, which let whoever holds them read. */
export async function notificationsList(
  { patient, count }: NotificationListOptions,
  { target }: CommandContext,
): Promise<CommandResult> {
  const { answer } = await target.exchange.call('listNotifications', {
    query: { patientId: patient, count },
  });
  const notifications = answer.notifications.map(({ url: _, ...rest }) => rest);
  const rows = notifications.map(({ id, type, patientId, occurredAt, status, followUp }) => [
    ...[id, type, patientId, occurredAt ?? '', status, followUp?.state ?? ''],
  ]);
  return {
    exitCode: EXIT.done,
    lines: rows.length === 0 ? ['Nothing was told.'] : renderTable(HEAD, rows),
    document: { command: 'notifications list', notifications },
  };
}
