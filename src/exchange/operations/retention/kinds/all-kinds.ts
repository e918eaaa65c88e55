import type { RetentionKind } from '../retention-kind.ts';
import { bulkResults } from './bulk-results.ts';
import { queryTimelines } from './query-timelines.ts';
import { retiredResources } from './retired-resources.ts';
import { unmatchedMessages } from './unmatched-messages.ts';
import { webhookEvents } from './webhook-events.ts';

/** What a retention rule can be set for. The audit is none of it: its chain cannot lose entries. */
export const RETENTION_KINDS: readonly RetentionKind[] = [
  webhookEvents,
  queryTimelines,
  bulkResults,
  unmatchedMessages,
  retiredResources,
];
