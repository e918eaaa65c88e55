import type {
  NotificationResponse,
  NotificationType,
} from '../../../contract/notifications.ts';
import type { LinkMaker } from '../../platform/links/signed-link.ts';
import type { StoredNotification } from './notification-store.ts';

/** A notification as responses carry it. @param url link to its Bundle */
export function serializeNotification(
  notification: StoredNotification,
  url: string,
): NotificationResponse {
  const { id, type, patientId, externalId, sender, withdrawnAt, followUp } =
    notification;
  return {
    id,
    type: type as NotificationType,
    status: withdrawnAt === null ? 'current' : 'withdrawn',
    patientId,
    externalId: externalId ?? undefined,
    sender,
    occurredAt: notification.occurredAt?.toISOString(),
    whenSourceSent: notification.sentAt?.toISOString(),
    notifiedAt: notification.notifiedAt.toISOString(),
    withdrawnAt: withdrawnAt?.toISOString(),
    url,
    ...(followUp === undefined
      ? {}
      : {
          followUp: {
            state: followUp.state,
            reason: followUp.reason ?? undefined,
            startedAt: followUp.startedAt.toISOString(),
            endedAt: followUp.endedAt?.toISOString(),
            requestIds: followUp.queryIds,
          },
        }),
  };
}

/** Ten minutes; docs/interface.md, "Notifications". */
const LINK_LIFETIME_MS = 600_000;

/**
 * Makes the link to a notification's Bundle. The link is the permission, and is
 * valid for ten minutes.
 */
export const notificationUrl = (
  links: LinkMaker,
  { accountId, notificationId }: { accountId: string; notificationId: string },
): string =>
  links.url(
    'encounter',
    { accountId, targetId: notificationId },
    LINK_LIFETIME_MS,
  );
