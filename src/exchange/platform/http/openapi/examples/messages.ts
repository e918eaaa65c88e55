import type { messageEndpoints } from '../../../../../contract/messages-endpoints.ts';
import type { notificationEndpoints } from '../../../../../contract/notifications-endpoints.ts';
import { AT, IDS, link, ONE_ITEM, type OperationExamples } from './example.ts';

const content = { subject: 'Referral', body: 'Please see the attached summary.' };
const message = {
  id: IDS.message,
  patientId: IDS.patient,
  direction: 'outbound',
  status: 'processing',
  transportMethod: 'direct',
  destination: 'dr.jones@direct.example.org',
  ...content,
  sentAt: AT,
  updatedAt: AT,
};

export const messageExamples: OperationExamples<keyof typeof messageEndpoints> = {
  listMessages: {
    query: { direction: 'outbound', status: 'processing' },
    answer: { messages: [message], meta: ONE_ITEM },
  },
  getMessage: { params: { id: IDS.message }, answer: message },
  sendMessage: {
    query: { patientId: IDS.patient },
    body: { destination: message.destination, ...content, attachments: [IDS.document] },
    answer: { ...message, attachments: [IDS.document] },
  },
};

const discharge = {
  id: IDS.notification,
  type: 'patient.discharge',
  status: 'current',
  patientId: IDS.patient,
  externalId: 'chart-20481',
  sender: 'mercy-general',
  occurredAt: '2026-11-21T14:30:00.000Z',
  whenSourceSent: '2026-11-21T14:41:12.000Z',
  toldAt: AT,
  url: link('encounter'),
  followUp: { state: 'open', startedAt: AT, requestIds: [IDS.networkQuery] },
};
const id = IDS.notification;

export const notificationExamples: OperationExamples<keyof typeof notificationEndpoints> = {
  listNotifications: {
    query: { patientId: IDS.patient, type: 'patient.discharge' },
    answer: { notifications: [discharge], meta: ONE_ITEM },
  },
  getNotification: { params: { id }, answer: discharge },
  cancelFollowUp: {
    params: { id },
    answer: {
      ...discharge,
      followUp: {
        ...discharge.followUp,
        state: 'cancelled',
        reason: 'Cancelled on request',
        endedAt: '2026-11-21T15:30:00.000Z',
      },
    },
  },
};
