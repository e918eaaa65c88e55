import { utcCell } from '../../../lib/time.ts';
import { listUnmatched } from '../../messaging/notifications/inbound-store.ts';
import type { AdminResult, AdminTarget } from './command.ts';

const REASONS: Readonly<Record<string, string>> = {
  unmatched: 'no patient matches',
  ambiguous: 'several patients of one account match',
  incomplete: 'name, date of birth or zip is missing',
};
const HEAD = ['message', 'received (UTC)', 'sender', 'kind', 'event', 'reason'];

/**
 * `notifications unmatched`: messages that matched no patient, and so belong to no account. Shows ids, times and reasons only; the
 * messages themselves stay encrypted.
 */
export async function listUnmatchedCommand(
  { store }: AdminTarget,
  { count }: { count: number },
): Promise<AdminResult> {
  const messages = await store.asSystem((tx) => listUnmatched(tx, count));
  const rows = messages.map(({ id, receivedAt, sender, kind, trigger, outcome }) => [
    ...[id, utcCell(receivedAt), sender, kind, trigger, REASONS[outcome] ?? outcome],
  ]);
  return {
    document: { command: 'notifications unmatched', messages },
    ...(rows.length === 0
      ? { lines: ['Every message matched a patient.'] }
      : { table: { head: HEAD, rows } }),
  };
}
