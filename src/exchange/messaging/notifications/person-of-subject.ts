import type { Patient } from 'fhir/r4.js';
import { type ClinicalItem, parseHl7, readHl7 } from '#hl7v2-to-fhir';
import type { BlobStore } from '../../../shared/blobs/blob-store.ts';
import type { SystemTx } from '../../platform/database/database.ts';
import { readFhirBundle } from './fhir/bundle.ts';
import type { InboundFormat, InboundMessage } from './inbound.ts';
import {
  readMessageContent,
  type StoredInboundEvent,
  type StoredSubject,
} from './inbound-store.ts';
import { mergesFrom, survivingRecord } from './merge-store.ts';
import { inOrder } from './subject-state.ts';

/** Reads the person that the message with this id describes. */
export type PersonOfMessage = (
  tx: SystemTx,
  messageId: string,
) => Promise<Patient>;

/**
 * The person a subject is about, as the newest message with a description
 * describes them. If the sender has since merged that person's record into
 * another, the description is that of the merge message. Messages under a
 * record to which the subject no longer belongs are ignored. `person` is
 * undefined when no description remains.
 */
export async function personOfSubject(
  tx: SystemTx,
  subject: StoredSubject,
  personOfMessage: PersonOfMessage,
): Promise<{ person: Patient | undefined; recordKey: Buffer | null }> {
  const newestFirst = inOrder(subject.events).reverse();
  const recordKey =
    newestFirst.find((event) => event.recordKey !== null)?.recordKey ?? null;
  const now = await currentRecord(tx, subject.sender, recordKey);
  for (const event of newestFirst.filter(
    ({ describesPerson }) => describesPerson,
  )) {
    const then = await currentRecord(tx, subject.sender, event.recordKey);
    if (event.recordKey !== null && then.record !== now.record) continue;
    return {
      person: await personOfMessage(tx, then.mergedBy ?? event.messageId),
      recordKey,
    };
  }
  return { person: undefined, recordKey };
}

/**
 * The events under the record to which a subject belongs today, and those
 * without a record, in the sender's order.
 */
export async function eventsOfRecord(
  tx: SystemTx,
  subject: StoredSubject,
): Promise<StoredInboundEvent[]> {
  const events = inOrder(subject.events);
  const recordKey =
    events.findLast((event) => event.recordKey !== null)?.recordKey ?? null;
  const now = await currentRecord(tx, subject.sender, recordKey);
  const own: StoredInboundEvent[] = [];
  for (const event of events) {
    const then = await currentRecord(tx, subject.sender, event.recordKey);
    if (event.recordKey === null || then.record === now.record) own.push(event);
  }
  return own;
}

/**
 * Whether a subject is somebody else's than the person of `recordKey`, so that
 * the sender uses its number again. It is the same one, moved to the right
 * person, if it took place at the same time: of a report whose number is used
 * again, only if the message corrects it.
 */
export async function isNumberReused(
  tx: SystemTx,
  { sender, events }: Pick<StoredSubject, 'sender' | 'events'>,
  {
    recordKey,
    at,
    corrects = true,
  }: { recordKey: Buffer; at?: string; corrects?: boolean },
): Promise<boolean> {
  const times = events.flatMap(({ content }) => timeOfEvent(content) ?? []);
  const isSameTime =
    at === undefined || times.length === 0 || times.includes(at);
  if (isSameTime && corrects) return false;
  const theirs =
    inOrder(events).findLast((event) => event.recordKey !== null)?.recordKey ??
    null;
  if (theirs === null) return false;
  const { record } = await currentRecord(tx, sender, theirs);
  return record !== (await currentRecord(tx, sender, recordKey)).record;
}

/** Whether a subject belongs to the person of a record today. */
export async function isUnderRecord(
  tx: SystemTx,
  { sender, events }: Pick<StoredSubject, 'sender' | 'events'>,
  recordKey: Buffer,
): Promise<boolean> {
  const own = inOrder(events).findLast((event) => event.recordKey !== null);
  if (own === undefined) return false;
  const { record } = await currentRecord(tx, sender, own.recordKey);
  return record === (await currentRecord(tx, sender, recordKey)).record;
}

/** Whether a report is known, and of another specimen only. */
export function isOtherSpecimen(
  events: readonly { content: object }[],
  specimen: string,
): boolean {
  const times = events.flatMap(({ content }) => {
    const { specimen: known, at } = content as Partial<ClinicalItem>;
    return known ?? at ?? [];
  });
  return times.length > 0 && !times.some((time) => isOneTime(time, specimen));
}

/** Whether two times of FHIR may be one: the day of an instant, or the same. */
function isOneTime(a: string, b: string): boolean {
  const precision = Math.min(a.length, b.length);
  return precision <= 10
    ? a.slice(0, precision) === b.slice(0, precision)
    : Date.parse(a) === Date.parse(b);
}

/**
 * When the stay began, the specimen was collected, the medication handed over.
 */
export function timeOfEvent(content: object): string | undefined {
  const { admittedAt, at } = content as { admittedAt?: string; at?: string };
  return admittedAt ?? at;
}

/**
 * The record (hex) that this record is part of today, and the message that
 * merged it there.
 */
async function currentRecord(
  tx: SystemTx,
  sender: string,
  recordKey: Buffer | null,
): Promise<{ record?: string; mergedBy?: string }> {
  if (recordKey === null) return {};
  const record = recordKey.toString('hex');
  const merge = survivingRecord(
    record,
    await mergesFrom(tx, sender, recordKey),
  );
  return merge === undefined || merge.surviving === record
    ? { record }
    : { record: merge.surviving, mergedBy: merge.messageId };
}

/**
 * Parses a stored message. Throws UnreadableMessageError. @param timeZone of
 * the sender's times without an offset
 */
export function readMessage(
  format: InboundFormat,
  bytes: Buffer,
  timeZone: string,
): InboundMessage {
  return format === 'hl7v2'
    ? readHl7(parseHl7(bytes), timeZone)
    : readFhirBundle(bytes);
}

/** Reads the person of a stored message. */
export function personOfStoredMessage(blobs: BlobStore): PersonOfMessage {
  return async (tx, messageId): Promise<Patient> => {
    const { format, content } = await readMessageContent(tx, messageId);
    // A person is described by dates without a time, to which the sender's time
    // zone makes no difference.
    return readMessage(format, await blobs.read(content.ref), 'UTC').person;
  };
}
