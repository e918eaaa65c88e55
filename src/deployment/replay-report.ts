import { EXIT } from '../lib/exit-codes.ts';
import { renderTable } from '../lib/table.ts';
import type { ReplayedType } from '../temporal/replay-open.ts';
import type { ToolResult } from './run-tool.ts';

/** Run ids listed for each workflow type; `--json` lists all. */
const LISTED_MAX = 5;

/**
 * What `npm run replay` prints: a table by workflow type, then the failures
 * with their reasons.
 */
export function replayReport(types: readonly ReplayedType[]): ToolResult {
  const failed = types.reduce((sum, { failures }) => sum + failures.length, 0);
  const replayed = types.reduce((sum, type) => sum + type.replayed, 0);
  const rows = types.map(({ workflowType, replayed, failures, left }) => [
    workflowType,
    ...[replayed, failures.length, left].map(String),
  ]);
  const lines = [
    ...renderTable(['Workflow', 'Replayed', 'Failed', 'Not replayed'], rows),
    '',
    ...types.flatMap(failuresOf),
    failed === 0
      ? `${replayed} open runs replay with this build.`
      : `${failed} of ${replayed + failed} open runs would get stuck with this build. Do not make it current.`,
  ];
  return {
    exitCode: failed === 0 ? EXIT.done : EXIT.partial,
    lines,
    document: { replayed, failed, types },
  };
}

function failuresOf({ workflowType, failures }: ReplayedType): string[] {
  if (failures.length === 0) return [];
  const listed = failures
    .slice(0, LISTED_MAX)
    .map(({ workflowId, reason }) => `  ${workflowId}: ${reason}`);
  const more = failures.length - listed.length;
  return [
    `${workflowType}:`,
    ...listed,
    ...(more > 0 ? [`  and ${more} more (--json lists them)`] : []),
    '',
  ];
}
