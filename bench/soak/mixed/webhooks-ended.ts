import { until } from '../../../test/faults/kill/until.ts';
import type { StackAccess } from '../../../test/support/stack.ts';
import type { Wave } from './wave.ts';

const TIMEOUT = { timeoutMs: 10 * 60_000, everyMs: 500 };

/** Destinations with an open event that no workflow looks at in time. */
const NOT_IN_HAND = `select d.id from webhook_destination d
  where d.account_id = $1 and (d.looks_at is null or d.looks_at <= now())
    and exists (select from event e where e.destination_id = d.id and e.status in ('pending', 'delivering'))`;

/**
 * Waits until all webhooks of a wave are delivered. One whose second attempt
 * failed too would wait five minutes for its third: once everything that is not
 * delivered has its time, the account sends it now. Returns what is never sent
 * by itself.
 */
export async function webhooksEnded(
  stack: StackAccess,
  { number, caller }: Wave,
): Promise<string[]> {
  const isDelivered = async () =>
    (await caller.get('settings/webhook')).pending === 0;
  const { accountId } = caller.account;
  const isInHand = await until(
    async () => (await stack.rows(NOT_IN_HAND, [accountId])).length === 0,
    TIMEOUT,
  );
  if (!(await isDelivered())) await caller.steer('settings/webhook/retry');
  await until(isDelivered, TIMEOUT);
  return isInHand
    ? []
    : [`wave ${number}: webhooks are due, and nothing sends them`];
}
