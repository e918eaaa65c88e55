import { v7 as uuidv7 } from 'uuid';
import type { Json } from '#record-summary/fhir';
import type { Content } from './subscription-request.ts';
import { TOPICS } from './topics.ts';

/** The Subscriptions R5 Backport guide 1.1.0. */
const PROFILE =
  'http://hl7.org/fhir/uv/subscriptions-backport/StructureDefinition/backport-subscription';
export const META_OF_SUBSCRIPTION = { profile: [PROFILE] };

type Kind =
  | 'handshake'
  | 'heartbeat'
  | 'event-notification'
  | 'query-status'
  | 'query-event';

/** A subscription at the time of a notification. */
export interface Standing {
  id: string;
  topic: string;
  content: Content;
  status: 'requested' | 'active' | 'error' | 'off';
  /** Why the status is error or off. */
  error: string | null;
  /** The number of its last event, or of the last one of the notification. */
  events: number;
}

/**
 * An event of a subscription, as far as it may be shown: without a focus, what
 * it was about may not be known, or is no more.
 */
export interface ShownEvent {
  number: number;
  at?: Date;
  focus?: { type: string; id: string };
  triggers?: readonly string[];
  /** The content of the focus, for `full-resource`; null: it has gone. */
  resource?: Json | null;
}

/**
 * The status of a subscription, as R4 can express it: Parameters by the guide's
 * profile of R5's SubscriptionStatus.
 *
 * @param base URL of the FHIR API, without a trailing slash
 */
export function subscriptionStatus(
  of: Standing,
  base: string,
  kind: Kind,
  shown: readonly ShownEvent[] = [],
): Json {
  const { url, triggers: codes = [] } =
    TOPICS.find(({ id }) => id === of.topic) ?? {};
  const partsOf = ({
    number,
    at,
    focus,
    triggers = [],
  }: ShownEvent): Json[] => [
    { name: 'event-number', valueString: String(number) },
    ...(at === undefined
      ? []
      : [{ name: 'timestamp', valueInstant: at.toISOString() }]),
    ...(focus
      ? [
          {
            name: 'focus',
            valueReference: { reference: `${base}/${focus.type}/${focus.id}` },
          },
        ]
      : []),
    // As US Core's patient data feed has them.
    ...codes.flatMap((each) =>
      triggers.includes(each.code)
        ? [{ name: 'trigger', valueCoding: each }]
        : [],
    ),
  ];
  return {
    resourceType: 'Parameters',
    id: uuidv7(),
    meta: { profile: [`${PROFILE}-status-r4`] },
    parameter: [
      {
        name: 'subscription',
        valueReference: { reference: `${base}/Subscription/${of.id}` },
      },
      ...(of.content === 'empty'
        ? []
        : [{ name: 'topic', valueCanonical: url }]),
      { name: 'status', valueCode: of.status },
      { name: 'type', valueCode: kind },
      {
        name: 'events-since-subscription-start',
        valueString: String(of.events),
      },
      ...shown.map((event) => ({
        name: 'notification-event',
        part: partsOf(event),
      })),
      ...(of.error === null
        ? []
        : [{ name: 'error', valueCodeableConcept: { text: of.error } }]),
    ],
  };
}

/**
 * A notification: a history Bundle, with the status first. Resources come once,
 * however many events are about them.
 */
export function notificationOf(
  of: Standing,
  base: string,
  kind: Kind,
  shown: readonly ShownEvent[] = [],
): Json {
  const status = subscriptionStatus(of, base, kind, shown);
  const entries = shown.flatMap(({ focus, resource, triggers }): Json[] => {
    if (focus === undefined || resource === undefined) return [];
    const place = `${focus.type}/${focus.id}`;
    const [method, at, code] =
      resource === null
        ? ['DELETE', place, '204']
        : triggers?.includes('create') === true
          ? ['POST', focus.type, '201']
          : ['PUT', place, '200'];
    const about = { request: { method, url: at }, response: { status: code } };
    return [
      { fullUrl: `${base}/${place}`, ...(resource && { resource }), ...about },
    ];
  });
  return {
    resourceType: 'Bundle',
    id: uuidv7(),
    meta: { profile: [`${PROFILE}-notification-r4`] },
    type: 'history',
    timestamp: new Date().toISOString(),
    entry: [
      {
        fullUrl: `urn:uuid:${String(status.id)}`,
        resource: status,
        request: {
          method: 'GET',
          url: `${base}/Subscription/${of.id}/$status`,
        },
        response: { status: '200' },
      },
      ...new Map(entries.map((entry) => [entry.fullUrl, entry])).values(),
    ],
  };
}
