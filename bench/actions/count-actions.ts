import type { History } from '@temporalio/common/lib/proto-utils.js';

export const ACTION_TYPES = [
  'workflow starts',
  'activities',
  'timers',
  'signals',
  'updates',
  'search attributes',
  'markers',
  'schedules',
  'options',
] as const;
export type Actions = Record<(typeof ACTION_TYPES)[number], number>;

export const noActions = (): Actions =>
  Object.fromEntries(
    ACTION_TYPES.map((type) => [type, 0]),
  ) as unknown as Actions;

/** Set by Temporal on a run that a Schedule started. */
const STARTED_BY_SCHEDULE = 'TemporalScheduledById';
/** Set by patches of the SDK; not billed. */
const CHANGE_VERSION = 'TemporalChangeVersion';

/**
 * Billed actions of one run that its history shows, by the rules of
 * https://docs.temporal.io/cloud/actions:
 *
 * - each start of a workflow, also as new and as a child; for a child one more,
 *   in its parent;
 * - each start of an activity, and each retry: only the last attempt is in the
 *   history, with its number;
 * - timers, also those of `condition` with a time limit; signals; accepted
 *   updates; changes of options;
 * - each upsert of search attributes, except for that of a patch alone;
 * - all markers of one workflow task together (local activities; a patch is
 *   counted too, which is an upper bound);
 * - two for a run that a Schedule started.
 *
 * Not in a history: heartbeats, queries and rejected updates.
 */
export function countActions(history: History): Actions {
  const actions = noActions();
  const tasksWithMarkers = new Set<string>();
  for (const event of history.events ?? []) {
    const started = event.workflowExecutionStartedEventAttributes;
    if (started) {
      actions['workflow starts'] += 1;
      if (
        STARTED_BY_SCHEDULE in (started.searchAttributes?.indexedFields ?? {})
      )
        actions.schedules += 2;
    }
    if (event.startChildWorkflowExecutionInitiatedEventAttributes)
      actions['workflow starts'] += 1;
    const activity = event.activityTaskStartedEventAttributes;
    if (activity) actions.activities += activity.attempt ?? 1;
    if (event.timerStartedEventAttributes) actions.timers += 1;
    if (event.workflowExecutionSignaledEventAttributes) actions.signals += 1;
    if (event.workflowExecutionUpdateAcceptedEventAttributes)
      actions.updates += 1;
    if (event.workflowExecutionOptionsUpdatedEventAttributes)
      actions.options += 1;
    const upserted =
      event.upsertWorkflowSearchAttributesEventAttributes?.searchAttributes
        ?.indexedFields;
    if (
      upserted &&
      Object.keys(upserted).some((name) => name !== CHANGE_VERSION)
    )
      actions['search attributes'] += 1;
    const marker = event.markerRecordedEventAttributes;
    if (marker)
      tasksWithMarkers.add(String(marker.workflowTaskCompletedEventId));
  }
  actions.markers = tasksWithMarkers.size;
  return actions;
}

export function add(sum: Actions, more: Actions): Actions {
  const total = { ...sum };
  for (const type of ACTION_TYPES) total[type] += more[type];
  return total;
}

export const totalOf = (actions: Actions): number =>
  ACTION_TYPES.reduce((total, type) => total + actions[type], 0);
