import {
  BULK_CREATE_EVENT_TYPE,
  type BulkCreateEvent,
} from '../contract/bulk-create.ts';
import { CONSOLIDATED_DATA_EVENT_TYPE } from '../contract/consolidated-query.ts';
import { DOCUMENT_URLS_EVENT_TYPE } from '../contract/documents.ts';
import { NETWORK_QUERY_EVENT_TYPES } from '../contract/events.ts';
import { NOTIFICATION_TYPES } from '../contract/notifications.ts';
import { lookupTable } from '../lib/lookup-table.ts';
import { withConsolidatedResult } from './delivery/consolidated-query/result-link.ts';
import { withDocumentUrls } from './delivery/documents/describe-document.ts';
import { notificationUrl } from './messaging/notifications/serializers.ts';
import { bulkResultUrl } from './people/bulk-create/routes.ts';
import {
  consolidatedDataUrl,
  type LinkMaker,
} from './platform/links/signed-link.ts';
import type { OpenEvent } from './platform/outbox/claim-store.ts';

/** The parts of an event that a link rule uses. */
export type LinkedEvent = Pick<OpenEvent, 'patientId' | 'body'>;
/** Returns the body of an event with new, expiring links. */
export type LinkRule = (
  links: LinkMaker,
  accountId: string,
  event: LinkedEvent,
) => Record<string, unknown>;

const withConsolidatedData: LinkRule = (
  links,
  accountId,
  { patientId, body },
) => {
  if (patientId === null) return body;
  const { payload, ...rest } = body;
  return {
    ...rest,
    payload: {
      ...(payload as object),
      consolidatedDataUrl: consolidatedDataUrl(links, { accountId, patientId }),
    },
  };
};

const withBulkResult: LinkRule = (links, accountId, { body }) => {
  const bulkPatientCreate =
    body.bulkPatientCreate as BulkCreateEvent['bulkPatientCreate'];
  if (bulkPatientCreate.status !== 'completed') return body;
  const result = bulkResultUrl(links, {
    accountId,
    requestId: bulkPatientCreate.requestId,
  });
  return { ...body, bulkPatientCreate: { ...bulkPatientCreate, result } };
};

/** The event's request id is the id of the notification. */
const withNotification: LinkRule = (links, accountId, { body }) => {
  const { meta, payload } = body as {
    meta: { requestId: string };
    payload: object;
  };
  const url = notificationUrl(links, {
    accountId,
    notificationId: meta.requestId,
  });
  return { ...body, payload: { url, ...payload } };
};

/**
 * Link rules by event type. Links are made when an event is sent, so that they
 * are valid even in a late delivery (decision 3); the stored body contains
 * none.
 */
const LINK_RULES: Readonly<Record<string, LinkRule>> = lookupTable({
  ...Object.fromEntries(
    NETWORK_QUERY_EVENT_TYPES.map((type) => [type, withConsolidatedData]),
  ),
  'network-query.hie.first-data-ready': withConsolidatedData,
  ...Object.fromEntries(
    NOTIFICATION_TYPES.map((type) => [type, withNotification]),
  ),
  [BULK_CREATE_EVENT_TYPE]: withBulkResult,
  [CONSOLIDATED_DATA_EVENT_TYPE]: (links, accountId, { body }) =>
    withConsolidatedResult(links, accountId, body),
  [DOCUMENT_URLS_EVENT_TYPE]: (links, accountId, { body }) =>
    withDocumentUrls(links, accountId, body),
});

/** The body to send: the stored body with its links. */
export function linkedBody(
  links: LinkMaker,
  accountId: string,
  event: LinkedEvent & Pick<OpenEvent, 'type'>,
): Record<string, unknown> {
  return LINK_RULES[event.type]?.(links, accountId, event) ?? event.body;
}
