import type {
  Encounter,
  FhirResource,
  Patient,
  ServiceRequest,
} from 'fhir/r4.js';
import {
  type Hl7Message,
  type OrderStatus,
  parseHl7,
  type ReportedResource,
  type ReportedSubject,
  reportedInHl7,
} from '#hl7v2-to-fhir';
import type { BlobStore } from '../../../../shared/blobs/blob-store.ts';
import type { Store, SystemTx } from '../../../platform/database/database.ts';
import { messageNamespaceOf } from '../../../records/rules/ids.ts';
import { reportedInBundle } from '../fhir/reported-resources.ts';
import {
  firstSubject,
  readSubject,
  type StoredInboundEvent,
  type StoredSubject,
} from '../inbound-store.ts';
import { numberKeys, senderKey } from '../match.ts';
import { encounterResource } from '../notification-bundle.ts';
import { numberKeysOf, readNumbers } from '../number-store.ts';
import { eventsOfRecord, readMessage } from '../person-of-subject.ts';
import { referredToBy, referringTo } from '../related-subjects.ts';
import type { EncounterEvent } from '../rules/encounter-event.ts';
import type { EncounterState } from '../rules/encounter-state.ts';
import {
  presentResources,
  type ReportedVersion,
} from '../rules/present-resources.ts';
import { statedDeath } from '../rules/stated-death.ts';
import { subjectState } from '../subject-state.ts';
import {
  readMessageContents,
  type StoredMessageContent,
} from './recording-store.ts';

/**
 * More messages about one result are not sent; of a long stay only the newest
 * are read.
 */
const MESSAGES_MAX = 200;

export interface PresentSubject {
  sender: string;
  kind: StoredSubject['kind'];
  /** References among them are `Type/id`; the person is `Patient/person`. */
  resources: FhirResource[];
}

/**
 * What a sender reports today about a subject, read from its stored messages.
 */
export async function presentSubject(
  {
    store,
    blobs,
    idHmacKey,
  }: { store: Pick<Store, 'asSystem'>; blobs: BlobStore; idHmacKey: string },
  subjectId: string,
): Promise<PresentSubject> {
  const { subject, contents, related } = await store.asSystem(async (tx) => {
    const stored = await readSubject(tx, subjectId);
    const events = (await eventsOfRecord(tx, stored)).slice(-MESSAGES_MAX);
    // A stay of HL7 v2 messages is described by its state; some of them
    // describe more.
    const isRead = ({ content }: (typeof events)[number]) =>
      stored.kind !== 'encounter' ||
      content.trigger === 'snapshot' ||
      content.reports === true;
    const ids = events.filter(isRead).map(({ messageId }) => messageId);
    return {
      subject: stored,
      contents: await readMessageContents(tx, ids),
      related: await readRelated(tx, stored),
    };
  });
  const keysOf = (kind: string, sourceId: string): Buffer[] => {
    const sourceKey = senderKey(idHmacKey, subject.sender, kind, sourceId);
    const numbered = { sender: subject.sender, kind, sourceKey };
    return numberKeys(idHmacKey, numbered, subject.events);
  };
  const isOf = ({ kind, sourceId, numbers }: ReportedSubject): boolean =>
    kind === subject.kind &&
    (keysOf(kind, sourceId).some((key) => key.equals(subject.sourceKey)) ||
      numberKeysOf(idHmacKey, subject.sender, numbers).some(({ numberKey }) =>
        related.identifying.has(numberKey.toString('hex')),
      ));
  const earlier: Hl7Message[] = [];
  for (const { format, blobRef } of related.parents)
    if (format === 'hl7v2') earlier.push(parseHl7(await blobs.read(blobRef)));
  const versions: ReportedVersion[] = [];
  let death: Patient | undefined;
  for (const content of contents) {
    const bytes = await blobs.read(content.blobRef);
    const message = readMessage(content.format, bytes, content.timeZone);
    death = statedDeath(message.person) ?? death;
    const reported = reportedIn(content, subject, bytes, earlier).filter(isOf);
    const resources: ReportedResource[] = [];
    for (const each of reported.flatMap((of) => of.resources)) {
      const { parent } = each;
      const keys =
        parent === undefined ? [] : keysOf(subject.kind, parent.sourceId);
      const { sender, kind } = subject;
      const parentId = await store.asSystem((tx) =>
        firstSubject(
          tx,
          keys.map((sourceKey) => ({ sender, kind, sourceKey })),
        ),
      );
      resources.push(withParent(each, parentId));
    }
    // The message changed only the person.
    if (resources.length === 0) continue;
    versions.push({
      resources,
      at: content.recordedAt,
      isPartial: content.format === 'hl7v2',
    });
  }
  const { sender, kind } = subject;
  const resources = presentResources(versions).flatMap((resource) =>
    withOrder(resource, related),
  );
  if (death !== undefined && death.deceasedBoolean !== false)
    resources.push(death);
  const state = subjectState(subject);
  return {
    sender,
    kind,
    resources:
      state.kind === 'encounter'
        ? withEncounter(resources, state, subject)
        : resources,
  };
}

/** The resource with a reference to what it derives from in another report. */
function withParent(
  reported: ReportedResource,
  parentSubjectId: string | undefined,
): ReportedResource {
  const { parent, resource } = reported;
  if (
    parent === undefined ||
    parentSubjectId === undefined ||
    resource.resourceType !== 'Observation'
  )
    return reported;
  const reference = `Observation/${messageNamespaceOf(parentSubjectId)}${parent.id}`;
  const derivedFrom = (resource.derivedFrom ?? []).map((each) => ({
    reference,
    ...each,
  }));
  return { ...reported, resource: { ...resource, derivedFrom } };
}

/** Throws UnreadableMessageError. */
function reportedIn(
  content: StoredMessageContent,
  subject: StoredSubject,
  bytes: Buffer,
  earlier: readonly Hl7Message[],
): ReportedSubject[] {
  return content.format === 'fhir'
    ? reportedInBundle(bytes)
    : reportedInHl7(parseHl7(bytes), content.timeZone, subject.sender, earlier);
}

/** What other subjects add to one, by the numbers that join them. */
interface Related {
  /** Hashes (hex) of the numbers that identify the subject. */
  identifying: ReadonlySet<string>;
  /** The messages about the reports that its results belong to. */
  parents: readonly StoredMessageContent[];
  /** The id of the subject of the order that it answers. */
  orderId?: string;
  /** What its results say of the order that it is. */
  statuses: readonly OrderStatus[];
}

/** The newest messages of each parent are read. */
const PARENT_MESSAGES_MAX = 20;

async function readRelated(
  tx: SystemTx,
  subject: StoredSubject,
): Promise<Related> {
  const numbers = await readNumbers(tx, subject.id);
  const identifying = new Set(
    numbers
      .filter(({ role }) => role === 'identifies')
      .map(({ numberKey }) => numberKey.toString('hex')),
  );
  const none = { identifying, parents: [], statuses: [] };
  if (numbers.length === 0 || subject.kind === 'encounter') return none;
  if (subject.kind === 'clinical')
    return { ...none, statuses: await statusesOf(tx, subject) };

  const [order, ...otherOrders] = await referredToBy(tx, subject, 'clinical');
  const parents: StoredMessageContent[] = [];
  if (subject.kind === 'laboratory')
    for (const parent of await referredToBy(tx, subject, 'laboratory')) {
      const events = await eventsOfRecord(tx, parent);
      const ids = events.map(({ messageId }) => messageId);
      parents.push(
        ...(await readMessageContents(tx, ids.slice(-PARENT_MESSAGES_MAX))),
      );
    }
  return {
    identifying,
    parents,
    orderId: otherOrders.length === 0 ? order?.id : undefined,
    statuses: [],
  };
}

async function statusesOf(
  tx: SystemTx,
  order: StoredSubject,
): Promise<OrderStatus[]> {
  const statuses: OrderStatus[] = [];
  for (const report of await referringTo(tx, order, 'laboratory')) {
    const [answered, ...others] = await referredToBy(tx, report, 'clinical');
    const state = subjectState(report);
    if (answered?.id !== order.id || others.length > 0) continue;
    if ('orderStatus' in state && state.orderStatus !== undefined)
      statuses.push(state.orderStatus);
  }
  return statuses;
}

/** The resource with the order that it answers, or the state that results give it. */
function withOrder(resource: FhirResource, related: Related): FhirResource[] {
  const { orderId, statuses } = related;
  if (resource.resourceType === 'ServiceRequest') {
    // The order has a message of its own.
    if (orderId !== undefined) return [];
    return [{ ...resource, status: orderStatus(resource.status, statuses) }];
  }
  if (orderId === undefined) return [resource];
  const id = `${messageNamespaceOf(orderId)}reported`;
  if (resource.resourceType === 'DiagnosticReport')
    return [{ ...resource, basedOn: [{ reference: `ServiceRequest/${id}` }] }];
  if (resource.resourceType === 'MedicationDispense')
    return [
      {
        ...resource,
        authorizingPrescription: [{ reference: `MedicationRequest/${id}` }],
      },
    ];
  return [resource];
}

/** An order is done when all its results are, whatever was said of it before. */
function orderStatus(
  own: ServiceRequest['status'],
  statuses: readonly OrderStatus[],
): ServiceRequest['status'] {
  const all = (status: OrderStatus) =>
    statuses.length > 0 && statuses.every((each) => each === status);
  if (own === 'entered-in-error') return own;
  if (all('completed')) return 'completed';
  return own === 'active' && all('revoked') ? 'revoked' : own;
}

const writtenTimes = ({ content }: StoredInboundEvent): [string, string][] =>
  Object.entries((content as Partial<EncounterEvent>).written ?? {});

/**
 * The Encounter as all messages make it; what only the sender's own Encounter
 * contains is kept.
 */
function withEncounter(
  resources: readonly FhirResource[],
  state: EncounterState,
  { id: subjectId, events }: StoredSubject,
): FhirResource[] {
  const sent = resources.find(
    (resource): resource is Encounter => resource.resourceType === 'Encounter',
  );
  // What a pre-admission plans has not happened.
  if (state.status === 'unknown')
    return resources.filter((resource) => resource !== sent);
  const { id, ...said } = sent ?? {};
  const { location, period, ...present } = encounterResource(
    id || subjectId,
    'person',
    state,
    new Map(events.flatMap(writtenTimes)),
  );
  const isDated = period?.start !== undefined || period?.end !== undefined;
  const encounter: Encounter = {
    ...(location === undefined || location.length === 0 ? {} : { location }),
    ...present,
    ...(isDated ? { period } : {}),
    ...said,
    ...(sent?.status === 'entered-in-error' ? {} : { status: present.status }),
  };
  return [encounter, ...resources.filter((resource) => resource !== sent)];
}
