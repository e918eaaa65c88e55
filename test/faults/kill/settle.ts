import type { StackAccess, StackAccount } from '../../support/stack.ts';
import { until } from './until.ts';

/** What of an account is still under way; empty when everything has ended. */
async function underWay(
  { rows, temporal }: StackAccess,
  { accountId }: StackAccount,
): Promise<string[]> {
  const [open] = await rows<Record<string, string>>(
    `select (select count(*) from network_query where account_id = $1 and status = 'running') as queries,
       (select count(*) from network_query_run where account_id = $1 and ended_at is null) as runs,
       (select count(*) from event where account_id = $1 and status in ('pending', 'delivering')) as events`,
    [accountId],
  );
  const found = Object.entries(open ?? {}).flatMap(([what, count]) =>
    Number(count) > 0 ? [`${count} open ${what}`] : [],
  );
  const query = `AccountId = "${accountId}" and ExecutionStatus = "Running"`;
  for await (const { workflowId } of temporal.workflow.list({ query }))
    found.push(`open: ${workflowId}`);
  return found;
}

/**
 * Waits until nothing of the account is under way; what is then still so is a
 * fault.
 */
export async function settle(
  stack: StackAccess,
  account: StackAccount,
  timeoutMs: number,
): Promise<string[]> {
  let left: string[] = ['there was no answer'];
  const check = async () => {
    left = await underWay(stack, account);
    return left.length === 0;
  };
  await until(check, { timeoutMs, everyMs: 250 });
  return left;
}

/**
 * Workflows of the account that ended otherwise than by their own doing.
 * Temporal lists a run for a moment after it was deleted.
 */
export async function badlyEnded(
  { temporal }: StackAccess,
  { accountId }: StackAccount,
): Promise<string[]> {
  const query = `AccountId = "${accountId}" and ExecutionStatus != "Completed"`;
  let found: string[] = ['there was no answer'];
  const check = async () => {
    const listed: string[] = [];
    for await (const { workflowId, status } of temporal.workflow.list({
      query,
    }))
      listed.push(`${workflowId} is ${status.name}`);
    found = listed;
    return found.length === 0;
  };
  await until(check, { timeoutMs: 240_000, everyMs: 500 });
  return found;
}
