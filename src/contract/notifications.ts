import { z } from 'zod';
import { type ExamplesOf, endpoint } from './endpoint.ts';
import { eventMetaOf } from './event-meta.ts';
import { pageMetaSchema, pageQuery } from './paging.ts';
import { component, idSchema, instantSchema } from './primitives.ts';

/**
 * Notifications that an account receives about its patients (docs/interface.md,
 * Notifications).
 */
export const NOTIFICATION_TYPES = [
  'patient.admit',
  'patient.transfer',
  'patient.discharge',
  'patient.pharmacy',
  'patient.laboratory',
] as const;
export type NotificationType = (typeof NOTIFICATION_TYPES)[number];

/**
 * Published consumers require name and type of both locations; what the source
 * did not report is `unknown`.
 */
const placeSchema = z.object({ name: z.string(), type: z.string() });
export const transferSchema = component('Transfer', {
  timestamp: instantSchema,
  sourceLocation: placeSchema,
  destinationLocation: placeSchema,
});

const payloadMembers = {
  /**
   * Link to a FHIR Bundle of the Patient and the reported resources; valid for
   * ten minutes from when the webhook was sent.
   */
  url: z.string(),
  patientId: idSchema,
  externalId: z.string().optional(),
  whenSourceSent: instantSchema.optional(),
};

export const encounterEventSchema = component('EncounterEvent', {
  meta: eventMetaOf(
    z.enum(['patient.admit', 'patient.transfer', 'patient.discharge']),
  ),
  payload: z.object({
    ...payloadMembers,
    admitTimestamp: instantSchema,
    dischargeTimestamp: instantSchema.optional(),
    transfers: z.array(transferSchema).optional(),
  }),
});

export const pharmacyEventSchema = component('PharmacyEvent', {
  meta: eventMetaOf(z.literal('patient.pharmacy')),
  payload: z.object({
    ...payloadMembers,
    medicationDispensedDate: instantSchema.optional(),
  }),
});

export const laboratoryEventSchema = component('LaboratoryEvent', {
  meta: eventMetaOf(z.literal('patient.laboratory')),
  payload: z.object({
    ...payloadMembers,
    specimenCollectedDate: instantSchema.optional(),
  }),
});

/** State of the repeated hie queries after a discharge. */
export const followUpSchema = component('DischargeFollowUp', {
  state: z.enum(['open', 'new-data', 'no-new-data', 'cancelled']),
  reason: z.string().optional(),
  startedAt: instantSchema,
  endedAt: instantSchema.optional(),
  /** Ids of the queries started so far. */
  requestIds: z.array(idSchema),
});

/** A notification in the responses of the notification operations. */
export const notificationSchema = component('Notification', {
  id: idSchema.describe('`meta.requestId` of its webhook.'),
  type: z.enum(NOTIFICATION_TYPES),
  status: z
    .enum(['current', 'withdrawn'])
    .describe(
      '`withdrawn`: the source withdrew the notification, or it turned out to be about another person.',
    ),
  patientId: idSchema,
  externalId: z.string().optional(),
  /** Configured name of the sender (NOTIFICATION_SENDERS). */
  sender: z.string(),
  occurredAt: instantSchema.optional(),
  whenSourceSent: instantSchema.optional(),
  notifiedAt: instantSchema,
  withdrawnAt: instantSchema.optional(),
  url: z
    .string()
    .describe(
      'Link to a FHIR Bundle, as in the webhook; valid for ten minutes from now.',
    ),
  followUp: followUpSchema.optional(),
});
export type NotificationResponse = z.output<typeof notificationSchema>;

/** Columns by which the list of notifications can be sorted. */
export const NOTIFICATION_SORT = ['notifiedAt', 'id'] as const;

export const notificationEndpoints = {
  listNotifications: endpoint(
    'GET /medical/v1/notification',
    {
      tag: 'notification',
      reference:
        'Webhooks out: patient.admit, .transfer, .discharge, .pharmacy, .laboratory',
      summary: 'List notifications',
      description:
        'Notifications about the account’s patients, newest first, including those that the source withdrew later.',
    },
    {
      query: pageQuery(NOTIFICATION_SORT, {
        patientId: idSchema.optional(),
        type: z.enum(NOTIFICATION_TYPES).optional(),
        status: z.enum(['current', 'withdrawn']).optional(),
      }),
      responses: {
        200: z.object({
          notifications: z.array(notificationSchema),
          meta: pageMetaSchema,
        }),
      },
    },
  ),
  getNotification: endpoint(
    'GET /medical/v1/notification/:id',
    {
      tag: 'notification',
      reference:
        'Webhooks out: patient.admit, .transfer, .discharge, .pharmacy, .laboratory',
      summary: 'Get notification',
    },
    notificationSchema,
  ),
  cancelFollowUp: endpoint(
    'POST /medical/v1/notification/:id/follow-up/cancel',
    {
      tag: 'notification',
      reference:
        'Webhooks out: patient.admit, .transfer, .discharge, .pharmacy, .laboratory',
      summary: 'End the follow-up of a discharge',
      description:
        'Stops the repeated hie queries for this discharge. 409 if the follow-up has already ended.',
    },
    notificationSchema,
  ),
} as const;

/** A request and its response for each of them, for the API reference. */
export const notificationExamples = {
  listNotifications: {
    query: {
      patientId: '01923e9d-02b4-7f6a-8c11-3f5e9d7a6b21',
      type: 'patient.discharge',
    },
    answer: {
      notifications: [
        {
          id: '01923ea9-5c6d-7e7f-8091-a2b3c4d5e6f7',
          type: 'patient.discharge',
          status: 'current',
          patientId: '01923e9d-02b4-7f6a-8c11-3f5e9d7a6b21',
          externalId: 'chart-20481',
          sender: 'mercy-general',
          occurredAt: '2026-11-21T14:30:00.000Z',
          whenSourceSent: '2026-11-21T14:41:12.000Z',
          notifiedAt: '2026-11-21T15:04:05.000Z',
          url: 'https://exchange.example.org/links/encounter/AaICCIpDdh6oNC66',
          followUp: {
            state: 'open',
            startedAt: '2026-11-21T15:04:05.000Z',
            requestIds: ['01923ea1-8d21-7f43-b5c6-d7e8f9011223'],
          },
        },
      ],
      meta: { itemsOnPage: 1, itemsInTotal: 1 },
    },
  },

  getNotification: {
    params: { id: '01923ea9-5c6d-7e7f-8091-a2b3c4d5e6f7' },
    answer: {
      id: '01923ea9-5c6d-7e7f-8091-a2b3c4d5e6f7',
      type: 'patient.discharge',
      status: 'current',
      patientId: '01923e9d-02b4-7f6a-8c11-3f5e9d7a6b21',
      externalId: 'chart-20481',
      sender: 'mercy-general',
      occurredAt: '2026-11-21T14:30:00.000Z',
      whenSourceSent: '2026-11-21T14:41:12.000Z',
      notifiedAt: '2026-11-21T15:04:05.000Z',
      url: 'https://exchange.example.org/links/encounter/AaICCIpDdh6oNC66',
      followUp: {
        state: 'open',
        startedAt: '2026-11-21T15:04:05.000Z',
        requestIds: ['01923ea1-8d21-7f43-b5c6-d7e8f9011223'],
      },
    },
  },

  cancelFollowUp: {
    params: { id: '01923ea9-5c6d-7e7f-8091-a2b3c4d5e6f7' },
    answer: {
      id: '01923ea9-5c6d-7e7f-8091-a2b3c4d5e6f7',
      type: 'patient.discharge',
      status: 'current',
      patientId: '01923e9d-02b4-7f6a-8c11-3f5e9d7a6b21',
      externalId: 'chart-20481',
      sender: 'mercy-general',
      occurredAt: '2026-11-21T14:30:00.000Z',
      whenSourceSent: '2026-11-21T14:41:12.000Z',
      notifiedAt: '2026-11-21T15:04:05.000Z',
      url: 'https://exchange.example.org/links/encounter/AaICCIpDdh6oNC66',
      followUp: {
        state: 'cancelled',
        startedAt: '2026-11-21T15:04:05.000Z',
        requestIds: ['01923ea1-8d21-7f43-b5c6-d7e8f9011223'],
        reason: 'Cancelled on request',
        endedAt: '2026-11-21T15:30:00.000Z',
      },
    },
  },
} satisfies ExamplesOf<typeof notificationEndpoints>;
