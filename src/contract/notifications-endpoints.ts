import { z } from 'zod';
import { endpoint } from './endpoint.ts';
import { byId, idempotency, pageMetaSchema } from './endpoint-parts.ts';
import { NOTIFICATION_SORT, NOTIFICATION_TYPES, notificationSchema } from './notifications.ts';
import { pageQuery } from './paging.ts';
import { idSchema } from './primitives.ts';

const reference = 'Webhooks out: patient.admit, .transfer, .discharge, .pharmacy, .laboratory';

export const notificationEndpoints = {
  listNotifications: endpoint({
    method: 'GET',
    path: '/medical/v1/notification',
    reference,
    tag: 'notification',
    summary: 'List notifications',
    description:
      'Notifications about the account’s patients, newest first, including those that the source withdrew later.',
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
  getNotification: endpoint({
    method: 'GET',
    path: '/medical/v1/notification/:id',
    reference,
    tag: 'notification',
    summary: 'Get notification',
    params: byId,
    responses: { 200: notificationSchema },
    errors: [404],
  }),
  cancelFollowUp: endpoint({
    method: 'POST',
    path: '/medical/v1/notification/:id/follow-up/cancel',
    reference,
    tag: 'notification',
    summary: 'End the follow-up of a discharge',
    description: 'Stops the repeated hie queries for this discharge. 409 if the follow-up has already ended.',
    params: byId,
    headers: idempotency,
    responses: { 200: notificationSchema },
    errors: [404],
  }),
} as const;
