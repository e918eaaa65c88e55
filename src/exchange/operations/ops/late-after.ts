import type { WorkKind } from './report.ts';

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/**
 * Ages in seconds at which open work counts as late. A query ends at the deadline of its slowest source, a week (lab); sweeps
 * and redrives are paced; the others end within seconds to an hour. The metric
 * `open_work_late_after_seconds` passes them to the alert rules.
 */
export const LATE_AFTER_SECONDS: Readonly<Record<WorkKind, number>> = {
  'network-query': 8 * DAY,
  'bulk-create': 2 * HOUR,
  'post-import-queries': 7 * DAY,
  'consolidated-query': HOUR,
  'bulk-export': 12 * HOUR,
  redrive: 7 * DAY,
  'outbound-message': DAY,
  'record-notification': 15 * MINUTE,
  erasure: HOUR,
  'audit-sealing': 10 * MINUTE,
};

/** Webhooks are sent right after the commit, and by a workflow when that failed. */
export const WEBHOOK_LATE_SECONDS = 5 * MINUTE;
export const BACKLOG_LATE_SECONDS = 2 * MINUTE;
