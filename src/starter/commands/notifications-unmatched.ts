import { readConfig } from '../../config.ts';
import { listUnmatched } from '../../exchange/notifications/inbound-store.ts';
import { createStore } from '../../exchange/platform/database/database.ts';
import { EXIT } from '../exit-codes.ts';
import { renderTable } from '../table.ts';
import type { CommandResult } from '../terminal.ts';
import type { CommandContext, CommonOptions } from './command.ts';

export interface NotificationUnmatchedOptions extends CommonOptions {
  count: number;
}

const REASONS: Readonly<Record<string, string>> = {
  unmatched: 'no patient fits',
  ambiguous: 'several patients of one account fit',
  incomplete: 'names, date of birth or zip are missing',
};
const HEAD = ['message', 'received', 'sender', 'kind', 'event', 'why'];

/**
 * Messages that were about nobody known, for the operators: such a message belongs to no account, so no account's key
 * shows it. Ids, times and reasons only; the messages themselves stay encrypted.
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
      ...[id, receivedAt.toISOString(), sender, kind, trigger, REASONS[outcome] ?? outcome],
    ]);
    return {
      exitCode: EXIT.done,
      lines: rows.length === 0 ? ['Somebody was found for every message.'] : renderTable(HEAD, rows),
      document: { command: 'notifications unmatched', messages },
    };
  } finally {
    await store.close();
  }
}
