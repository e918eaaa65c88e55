import type { DeliveryReport } from './read-report.ts';

/** How a message stands at one recipient. */
export type DeliveryOutcome = 'waiting' | 'delivered' | 'failed';

/** What a report says of a message at a recipient (`whatReportSays`). */
export type Receipt = 'processed' | 'dispatched' | 'failed';

/** A receipt that was verified to be from the recipient's domain. */
export interface ArrivedReceipt {
  says: Receipt;
  arrivedAt: Date;
}

/** A message that was handed over for one recipient. */
export interface HandedOver {
  sentAt: Date;

  /**
   * Whether it asked to be told that it was delivered to its final destination
   * (`X-DIRECT-FINAL-DESTINATION-DELIVERY`).
   */
  asksForDispatched: boolean;
}

/** Without a first notification for so long, a message has failed. */
export const NOTIFICATION_WITHIN_MS = 3_600_000;

/**
 * How a message stands, by the reports on it and the clock, after "Delivery
 * Notification in Direct" 1.0: what confirms it must come within an hour, and
 * what comes later only turns a success into a failure.
 */
export function deliveryOutcome(
  { sentAt, asksForDispatched }: HandedOver,
  receipts: readonly ArrivedReceipt[],
  now: Date,
): DeliveryOutcome {
  if (receipts.some(({ says }) => says === 'failed')) return 'failed';

  const deadlineMs = sentAt.getTime() + NOTIFICATION_WITHIN_MS;
  const isConfirmed = receipts.some(
    ({ says, arrivedAt }) =>
      (says === 'dispatched' || !asksForDispatched) &&
      arrivedAt.getTime() <= deadlineMs,
  );
  if (isConfirmed) return 'delivered';

  return now.getTime() > deadlineMs ? 'failed' : 'waiting';
}

/**
 * What a report says of a recipient: undefined when it says nothing that
 * counts, as a mere delay does. A success of the mail's transport
 * (`relayed`, `delivered`) is none of the message.
 */
export function whatReportSays(
  report: DeliveryReport,
  recipient: string,
): Receipt | undefined {
  if (report.kind === 'dsn') {
    const isFailed = report.recipients.some(
      (each) =>
        isSameAddress(each.finalRecipient, recipient) && isFailure(each),
    );

    return isFailed ? 'failed' : undefined;
  }

  if (!isSameAddress(report.finalRecipient, recipient)) return undefined;
  if (report.modifiers.some((each) => FAILED_MODIFIERS.has(each)))
    return 'failed';

  return DISPOSITIONS.get(report.disposition ?? '');
}

const DISPOSITIONS: ReadonlyMap<string, Receipt> = new Map([
  ['processed', 'processed'],
  ['dispatched', 'dispatched'],
  ['displayed', 'dispatched'],
  ['failed', 'failed'],
  ['denied', 'failed'],
]);

const FAILED_MODIFIERS: ReadonlySet<string> = new Set([
  'error',
  'failure',
  'failed',
]);

/** A class of 5 has failed for good; without any, nothing is concluded. */
function isFailure({
  action,
  status,
}: {
  action: string | undefined;
  status: string | undefined;
}): boolean {
  return action === undefined
    ? status?.startsWith('5.') === true
    : action === 'failed';
}

function isSameAddress(one: string | undefined, other: string): boolean {
  return one?.toLowerCase() === other.toLowerCase();
}
