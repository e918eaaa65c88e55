import { z } from 'zod';
import { endpoint } from './endpoint.ts';
import { byId, pageMetaSchema } from './endpoint-parts.ts';
import { NOTIFICATION_SORT, NOTIFICATION_TYPES, notificationSchema } from './notifications.ts';
import { pageQuery } from './paging.ts';
import { idSchema } from './primitives.ts';

export const notificationEndpoints = {
  listNotifications: endpoint('GET /medical/v1/notification', {
    query: pageQuery(
      {
        patientId: idSchema.optional(),
        type: z.enum(NOTIFICATION_TYPES).optional(),
        status: z.enum(['current', 'withdrawn']).optional(),
      },
      { sort: NOTIFICATION_SORT },
    ),
    responses: { 200: z.object({ notifications: z.array(notificationSchema), meta: pageMetaSchema }) },
  }),
  getNotification: endpoint('GET /medical/v1/notification/:id', {
    params: byId,
    responses: { 200: notificationSchema },
    errors: [404],
  }),
  cancelFollowUp: endpoint('POST /medical/v1/notification/:id/follow-up/cancel', {
    params: byId,
    responses: { 200: notificationSchema },
    errors: [404],
  }),
} as const;
