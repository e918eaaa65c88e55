import { networkQueryWorkflowId } from '../../src/contract/temporal.ts';
import type { TemporalClient } from '../../src/temporal/client.ts';
import { type Percentiles, percentiles } from './percentiles.ts';

/** Where the time of a query of one source goes, in milliseconds. */
export const STAGES = [
  'E2 until its workflow is started',
  'workflow task, waiting',
  'workflow task, working',
  'step of the source, waiting',
  'step of the source, working',
] as const;
export type Stages = Record<(typeof STAGES)[number], Percentiles>;

/** A query, and when E2 was sent (in ms since 1970). */
export interface SentQuery {
  requestId: string;
  sentAt: number;
}

/**
 * The stages of these queries, from the histories of their workflows: which
 * queue waited, and who worked.
 */
export async function readStages(
  temporal: TemporalClient,
  queries: readonly SentQuery[],
): Promise<Stages> {
  const times = new Map(STAGES.map((stage) => [stage, [] as number[]]));
  for (const { requestId, sentAt } of queries) {
    const at = await firstEventTimes(
      temporal,
      networkQueryWorkflowId(requestId),
    );
    const marks = [
      sentAt,
      at('workflowExecutionStartedEventAttributes'),
      at('workflowTaskStartedEventAttributes'),
      at('workflowTaskCompletedEventAttributes'),
      at('activityTaskStartedEventAttributes'),
      at('activityTaskCompletedEventAttributes'),
    ];
    STAGES.forEach((stage, index) => {
      times
        .get(stage)
        ?.push((marks[index + 1] ?? Number.NaN) - (marks[index] ?? Number.NaN));
    });
  }
  return Object.fromEntries(
    [...times].map(([stage, all]) => [stage, percentiles(all)]),
  ) as Stages;
}

type Attributes = `${string}EventAttributes`;

async function firstEventTimes(temporal: TemporalClient, workflowId: string) {
  const { events } = await temporal.workflow
    .getHandle(workflowId)
    .fetchHistory();
  return (attributes: Attributes): number => {
    const found = (events ?? []).find(
      (event) =>
        attributes in event && event[attributes as keyof typeof event] != null,
    );
    return (
      Number(found?.eventTime?.seconds ?? Number.NaN) * 1_000 +
      Number(found?.eventTime?.nanos ?? 0) / 1e6
    );
  };
}
