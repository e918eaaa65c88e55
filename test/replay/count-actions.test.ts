import type { History } from '@temporalio/common/lib/proto-utils.js';
import { describe, expect, test } from 'vitest';
import { countActions, totalOf } from '../../bench/actions/count-actions.ts';
import { loadHistories } from './histories.ts';

const countOf = (...events: object[]) => {
  const actions = countActions({ events } as History);
  return Object.fromEntries(
    Object.entries(actions).filter(([, count]) => count > 0),
  );
};
const upserted = (...names: string[]) => ({
  upsertWorkflowSearchAttributesEventAttributes: {
    searchAttributes: {
      indexedFields: Object.fromEntries(names.map((name) => [name, {}])),
    },
  },
});
const marker = (task: number) => ({
  markerRecordedEventAttributes: { workflowTaskCompletedEventId: task },
});

describe('billed actions of a history', () => {
  test('are every attempt of an activity, although only the last is in the history', () => {
    expect(
      countOf({ activityTaskStartedEventAttributes: { attempt: 4 } }),
    ).toEqual({ activities: 4 });
  });

  test('are two for a child, in two histories, and two more for a run of a Schedule', () => {
    expect(
      countOf({ startChildWorkflowExecutionInitiatedEventAttributes: {} }),
    ).toEqual({
      'workflow starts': 1,
    });
    const searchAttributes = { indexedFields: { TemporalScheduledById: {} } };
    expect(
      countOf({
        workflowExecutionStartedEventAttributes: { searchAttributes },
      }),
    ).toEqual({
      'workflow starts': 1,
      schedules: 2,
    });
  });

  test('are one for all markers of a workflow task, and none for the search attribute of a patch', () => {
    expect(
      countOf(
        marker(4),
        marker(4),
        marker(9),
        upserted('TemporalChangeVersion'),
      ),
    ).toEqual({
      markers: 2,
    });
    expect(countOf(upserted('QueryStatus', 'Sources'))).toEqual({
      'search attributes': 1,
    });
  });

  test('are at least one in every recorded history, and fewer than its events', async () => {
    for (const { name, history } of await loadHistories()) {
      const total = totalOf(countActions(history));
      expect(total, name).toBeGreaterThan(0);
      expect(total, name).toBeLessThan(history.events?.length ?? 0);
    }
  });
});
