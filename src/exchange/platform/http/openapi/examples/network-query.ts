import type { networkQueryEndpoints } from '../../../../../contract/network-query-endpoints.ts';
import type { queryRedriveEndpoints } from '../../../../../contract/query-redrive-endpoints.ts';
import { AT, IDS, ONE_ITEM, type OperationExamples } from './example.ts';

export const networkQueryBody = {
  sources: { hie: { enabled: true }, pharmacy: { enabled: true, realtime: false }, lab: { enabled: true } },
  metadata: { visit: '2026-11-21' },
};

const ENDED_AT = '2026-11-21T15:06:41.000Z';
const query = {
  requestId: IDS.networkQuery,
  patientId: IDS.patient,
  externalId: 'chart-20481',
  startedAt: AT,
};
const started = { startedAt: AT };
const lab = { type: 'lab', status: 'completed', ...started, completedAt: ENDED_AT };
const hieFailed = { type: 'hie', status: 'failed', ...started, completedAt: ENDED_AT };
const inProgress = {
  ...query,
  status: 'in-progress',
  sources: [{ type: 'hie', status: 'in-progress', ...started }, lab],
};

const { requestId } = query;

export const networkQueryExamples: OperationExamples<keyof typeof networkQueryEndpoints> = {
  startNetworkQuery: {
    query: { patientId: IDS.patient },
    body: networkQueryBody,
    answer: {
      ...query,
      status: 'processing',
      sources: ['hie', 'pharmacy', 'lab'].map((type) => ({ type, status: 'processing', ...started })),
    },
  },
  getNetworkQuery: { params: { requestId }, answer: inProgress },
  listNetworkQueries: {
    query: { patientId: IDS.patient, status: 'in-progress' },
    answer: { queries: [inProgress], meta: ONE_ITEM },
  },
  getNetworkQueryTimeline: {
    params: { requestId },
    answer: {
      requestId,
      timeline: [
        { at: AT, kind: 'query-accepted', message: 'Query accepted for hie, pharmacy, lab' },
        { at: AT, source: 'hie', attempt: 1, kind: 'accepted', message: 'The source is working on it' },
        {
          at: ENDED_AT,
          source: 'lab',
          attempt: 1,
          kind: 'completed',
          message: 'The lab source completed: 57 resources and 1 document collected',
        },
      ],
    },
  },
  retrySource: {
    params: { requestId, type: 'hie' },
    answer: {
      ...query,
      status: 'in-progress',
      sources: [hieFailed, { type: 'hie', status: 'in-progress', startedAt: ENDED_AT }, lab],
    },
  },
  giveUpSource: {
    params: { requestId, type: 'hie' },
    answer: { ...query, status: 'completed', sources: [hieFailed, lab] },
  },
  cancelNetworkQuery: {
    params: { requestId },
    answer: { ...query, status: 'failed', sources: [hieFailed, { ...lab, status: 'failed' }] },
  },
};

const redrive = {
  requestId: IDS.networkQuery,
  source: 'lab',
  failedFrom: '2026-11-20T22:00:00.000Z',
  failedTo: '2026-11-21T04:00:00.000Z',
  reason: '401',
  queries: 240,
  retried: 96,
  skipped: 2,
  failed: 0,
  open: 14,
  startedAt: AT,
};

export const queryRedriveExamples: OperationExamples<keyof typeof queryRedriveEndpoints> = {
  redriveQueries: {
    body: {
      source: 'lab',
      failedFrom: '2026-11-20T22:00:00.000Z',
      failedTo: '2026-11-21T04:00:00.000Z',
      reason: '401',
    },
    answer: { ...redrive, state: 'running', retried: 0, skipped: 0, open: 0 },
  },
  getQueryRedrive: { params: { requestId }, answer: { ...redrive, state: 'running' } },
  cancelQueryRedrive: {
    params: { requestId },
    answer: { ...redrive, state: 'cancelled', endedAt: ENDED_AT },
  },
};
