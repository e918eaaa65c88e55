import type { Encounter, FhirResource, Patient } from 'fhir/r4.js';
import {
  parseHl7,
  type ReportedResource,
  type ReportedSubject,
  reportedInHl7,
} from '#hl7v2-to-fhir';
import type { BlobStore } from '../../../../shared/blobs/blob-store.ts';
import type { Store } from '../../../platform/database/database.ts';
import { messageNamespaceOf } from '../../../records/rules/ids.ts';
import { reportedInBundle } from '../fhir/reported-resources.ts';
import {
  firstSubject,
  readSubject,
  type StoredSubject,
} from '../inbound-store.ts';
import { numberKeys, senderKey } from '../match.ts';
import { encounterResource } from '../notification-bundle.ts';
import { eventsOfRecord, readMessage } from '../person-of-subject.ts';
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
  const { subject, contents } = await store.asSystem(async (tx) => {
    const stored = await readSubject(tx, subjectId);
    const events = (await eventsOfRecord(tx, stored)).slice(-MESSAGES_MAX);
    // A stay of HL7 v2 messages is described by its state; some of them
    // describe more.
    const isRead = ({ content }: (typeof events)[number]) =>
      stored.kind !== 'encounter' ||
      content.trigger === 'snapshot' ||
      content.reports === true;
    const ids = events.filter(isRead).map(({ messageId }) => messageId);
    return { subject: stored, contents: await readMessageContents(tx, ids) };
  });
  const keysOf = (kind: string, sourceId: string): Buffer[] => {
    const sourceKey = senderKey(idHmacKey, subject.sender, kind, sourceId);
    const numbered = { sender: subject.sender, kind, sourceKey };
    return numberKeys(idHmacKey, numbered, subject.events);
  };
  const isOf = ({ kind, sourceId }: ReportedSubject): boolean =>
    kind === subject.kind &&
    keysOf(kind, sourceId).some((key) => key.equals(subject.sourceKey));
  const versions: ReportedVersion[] = [];
  let death: Patient | undefined;
  for (const content of contents) {
    const bytes = await blobs.read(content.blobRef);
    const message = readMessage(content.format, bytes, content.timeZone);
    death = statedDeath(message.person) ?? death;
    const reported = reportedIn(content, subject, bytes).filter(isOf);
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
  const resources = presentResources(versions);
  if (death !== undefined && death.deceasedBoolean !== false)
    resources.push(death);
  const state = subjectState(subject);
  return {
    sender,
    kind,
    resources:
      state.kind === 'encounter'
        ? withEncounter(resources, state, subjectId)
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
): ReportedSubject[] {
  return content.format === 'fhir'
    ? reportedInBundle(bytes)
    : reportedInHl7(parseHl7(bytes), content.timeZone, subject.sender);
}

/**
 * The Encounter as all messages make it; what only the sender's own Encounter
 * contains is kept.
 */
function withEncounter(
  resources: readonly FhirResource[],
  state: EncounterState,
  subjectId: string,
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
