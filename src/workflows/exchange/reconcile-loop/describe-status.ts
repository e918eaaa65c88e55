import type { ReconcileLoopStatus } from '../../../contract/reconcile-workflow.ts';

/** Markdown for the workflow's page in the Temporal UI. A list, because the UI shows tables without cell spacing. */
export function describeStatus(status: ReconcileLoopStatus): string {
  const { isPaused, lastRoundAt, last, failure } = status;
  const paused = last?.paused?.join(' and ') ?? (isPaused ? 'deleting and healing' : undefined);
  const state =
    paused === undefined ? undefined : `**Paused: ${paused}.** Continue all with the signal \`resume\`.`;
  const round = lastRoundAt === undefined ? undefined : `Last round: ${lastRoundAt}`;
  const kinds = Object.entries(last?.kinds ?? {}).map(([kind, { found, healed, failed, oldestSeconds }]) => {
    const age = oldestSeconds === undefined ? [] : [`oldest ${oldestSeconds} s`];
    return `- **${kind}**: ${[`${found} found`, `${healed} healed`, `${failed} failed`, ...age].join(' · ')}`;
  });
  const suspicion =
    last?.suspicion === undefined
      ? undefined
      : `**${last.suspicion}**: probably a restore; all open work is looked at again.`;
  const outcome = failure ?? (kinds.length > 0 ? kinds.join('\n') : 'Nothing was unfinished.');
  return [state, round, suspicion, lastRoundAt === undefined ? undefined : outcome]
    .filter((part) => part !== undefined)
    .join('\n\n');
}
