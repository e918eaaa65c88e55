import { readConfig } from '../../config.ts';
import { listUnmatched } from '../../exchange/messaging/notifications/inbound-store.ts';
import { createStore } from '../../exchange/platform/database/database.ts';
import { utcCell } from '../../lib/utc-time.ts';
import { EXIT } from '../exit-codes.ts';
import { renderTable } from '../table.ts';
import type { CommandResult } from '../terminal.ts';
import type { CommandContext, CommonOptions } from './command.ts';

export interface NotificationUnmatchedOptions extends CommonOptions {
  count: number;
}

const REASONS: Readonly<Record<string, string>> = {
  unmatched: 'no patient matches',
  ambiguous: 'several patients of one account match',
  incomplete: 'name, date of birth or zip is missing',
};
const HEAD = ['message', 'received (UTC)', 'sender', 'kind', 'event', 'reason'];

/**
 * Lists messages that matched no patient, for operators: such a message belongs to no account, so no API key can list
 * it. Shows ids, times and reasons only; the messages themselves stay encrypted.
 */
export async function notificationsUnmatched(
  { count }: NotificationUnmatchedOptions,
  { target, env }: CommandContext,
): Promise<CommandResult> {
  const databaseUrl = target.stack?.connection.databaseUrl ?? readConfig(['DATABASE_URL'], env).DATABASE_URL;
  const store = createStore({ databaseUrl, poolMax: 1 });
  try {
    const messages = await store.asSystem((tx) => listUnmatched(tx, count));
    const rows = messages.map(({ id, receivedAt, sender, kind, trigger, outcome }) => [
      ...[id, utcCell(receivedAt), sender, kind, trigger, REASONS[outcome] ?? outcome],
    ]);
    return {
      exitCode: EXIT.done,
      lines: rows.length === 0 ? ['Every message matched a patient.'] : renderTable(HEAD, rows),
      document: { command: 'notifications unmatched', messages },
    };
  } finally {
    await store.close();
  }
}
