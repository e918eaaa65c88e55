import type { NotificationResponse, NotificationType } from '../../../contract/notifications.ts';
import type { StoredNotification } from './notification-store.ts';

/** A notification as responses carry it. @param url link to its Bundle */
export function serializeNotification(notification: StoredNotification, url: string): NotificationResponse {
  const { id, type, patientId, externalId, sender, withdrawnAt, followUp } = notification;
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
