import { utcCell } from '../../lib/utc-time.ts';
import { EXIT } from '../exit-codes.ts';
import { renderTable } from '../table.ts';
import { patientNames } from '../target/patient-names.ts';
import type { CommandResult } from '../terminal.ts';
import type { CommandContext, CommonOptions } from './command.ts';

export interface NotificationListOptions extends CommonOptions {
  patient?: string;
  count: number;
}

const HEAD = ['notification', 'type', 'patient', 'name', 'happened (UTC)', 'status', 'follow-up'];

/** Lists the account's notifications, without their links: a link gives read access to anyone who has it. */
export async function notificationsList(
  { patient, count }: NotificationListOptions,
  { target }: CommandContext,
): Promise<CommandResult> {
  const { answer } = await target.exchange.call('listNotifications', {
    query: { patientId: patient, count },
  });
  const notifications = answer.notifications.map(({ url: _, ...rest }) => rest);
  const ids = notifications.map(({ patientId }) => patientId);
  const names = await patientNames(target.exchange, ids);
  const rows = notifications.map(({ id, type, patientId, occurredAt, status, followUp }) => [
    ...[id, type, patientId, names.get(patientId) ?? '', utcCell(occurredAt), status, followUp?.state ?? ''],
  ]);
  return {
    exitCode: EXIT.done,
    lines: rows.length === 0 ? ['No notifications found.'] : renderTable(HEAD, rows),
    document: { command: 'notifications list', notifications },
  };
}
