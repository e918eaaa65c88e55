import { v7 as uuidv7 } from 'uuid';
import type { ClinicalItem } from '#hl7v2-to-fhir';
import type { SystemTx } from '../../platform/database/database.ts';
import { retryOvertaken } from '../../platform/database/retry.ts';
import type { Platform } from '../../platform/platform.ts';
import { type Applied, applySubject } from './apply.ts';
import { continueFollowUps, type FollowUps } from './follow-up/follow-ups.ts';
import type {
  InboundContent,
  InboundFormat,
  InboundMessage,
} from './inbound.ts';
import {
  firstSubject,
  insertInboundEvent,
  insertInboundMessage,
  isKnownInboundMessage,
  lockSender,
  lockSubject,
  readSubject,
  recentOf,
  setOutcome,
} from './inbound-store.ts';
import {
  describesEnough,
  keysOfPersons,
  reusedNumberKey,
  senderKey,
} from './match.ts';
import { insertMerge, subjectsLeadingTo } from './merge-store.ts';
import { insertNumbers, lockNumbers, numberKeysOf } from './number-store.ts';
import {
  isAnotherPerson,
  isRecordOfAnother,
  type PersonKeys,
  personKeysOf,
  personOf,
} from './person-keys.ts';
import {
  isOtherSpecimen,
  isNumberReused as isSubjectNumberReused,
  isUnderRecord,
  type PersonOfMessage,
  personOfStoredMessage,
  timeOfEvent,
} from './person-of-subject.ts';
import { type Recordings, startRecordings } from './recording/recordings.ts';
import { identified, relatedTo } from './related-subjects.ts';
import { statedDeath } from './rules/stated-death.ts';
import type { NotificationSender } from './senders.ts';
import type { InboundOutcome } from './tables.ts';

/**
 * The sender's ids of messages, visits and records are stored only as hashes
 * keyed with `idHmacKey`.
 */
export interface IntakeDeps
  extends Pick<Platform, 'store' | 'blobs' | 'idHmacKey' | 'logger'> {
  followUps: Pick<FollowUps, 'launch' | 'wake'>;
  recordings: Pick<Recordings, 'launch'>;
}

export type Intake = ReturnType<typeof createIntake>;

/**
 * Most important first: a message about several subjects is listed with the
 * most important of their outcomes.
 */
const OUTCOMES: readonly InboundOutcome[] = [
  'matched',
  'ambiguous',
  'unmatched',
  'incomplete',
  'not-monitored',
  'merged',
];

const NUMBER_REUSED =
  'a message has the number of an earlier one and says something else; both are kept';

export function createIntake(deps: IntakeDeps) {
  const keyed = (sender: string, kind: string, id: string): Buffer =>
    senderKey(deps.idHmacKey, sender, kind, id);
  const personOfEarlier = personOfStoredMessage(deps.blobs);
  const earlier = {
    personOfMessage: personOfEarlier,
    idHmacKey: deps.idHmacKey,
  };

  return {
    /**
     * Stores a message and everything that follows from it, in one transaction;
     * resolves after the commit. A message that the sender has sent before
     * changes nothing.
     */
    async accept(
      sender: NotificationSender,
      format: InboundFormat,
      bytes: Buffer,
      message: InboundMessage,
    ): Promise<void> {
      const { messageId, fingerprint } = message;
      const messageKey = keyed(
        sender.name,
        'message',
        `${messageId} ${fingerprint}`,
      );
      const controlKey = keyed(sender.name, 'control', messageId);
      const known = { sender: sender.name, messageKey };
      if (await deps.store.asSystem((tx) => isKnownInboundMessage(tx, known)))
        return;
      const contentType =
        format === 'fhir' ? 'application/fhir+json' : 'application/hl7-v2';
      const content = await deps.blobs.put('notification', bytes, contentType);
      const id = uuidv7();
      const { kind } = message.content;
      let isNumberReused = false;
      const applied = await retryOvertaken(() =>
        deps.store.asSystem(async (tx) => {
          await lockSender(
            tx,
            sender.name,
            kind === 'merge' || kind === 'person' ? 'alone' : 'shared',
          );
          const { trigger, recordedAt, sentAt, unused, filled, ownCodes } =
            message;
          const inserted = await insertInboundMessage(tx, {
            id,
            sender: sender.name,
            messageKey,
            controlKey,
            format,
            kind,
            trigger,
            recordedAt,
            sentAt,
            content,
            timeZone: sender.timeZone,
            unused,
            filled,
            ownCodes,
          });
          if (inserted === undefined) return undefined;
          isNumberReused = inserted.isNumberReused;
          const { all, isHeld } = await apply(tx, sender, id, message);
          await setOutcome(tx, id, isHeld ? 'held' : intakeOutcome(all));
          return all;
        }),
      );
      if (applied === undefined) await deps.blobs.delete(content.ref);
      else {
        if (isNumberReused)
          deps.logger.warn(
            { sender: sender.name, messageId: id },
            NUMBER_REUSED,
          );
        continueFollowUps(deps.followUps, applied);
        startRecordings(deps.recordings, applied);
      }
    },
  };

  async function apply(
    tx: SystemTx,
    sender: NotificationSender,
    messageId: string,
    message: InboundMessage,
  ): Promise<{ all: Applied[]; isHeld: boolean }> {
    const personOfMessage: PersonOfMessage = async (within, id) =>
      id === messageId ? message.person : personOfEarlier(within, id);
    const subjects = await subjectsOf(tx, sender.name, messageId, message);
    const all: Applied[] = [];
    for (const { id } of subjects.filter(({ isHeld }) => !isHeld))
      all.push(
        await applySubject(tx, id, {
          personOfMessage,
          idHmacKey: deps.idHmacKey,
        }),
      );
    return { all, isHeld: subjects.some(({ isHeld }) => isHeld) };
  }

  /** Stores what the message says, and returns the subjects that it may change. */
  async function subjectsOf(
    tx: SystemTx,
    sender: string,
    messageId: string,
    message: InboundMessage,
  ): Promise<ChangedSubject[]> {
    const { content } = message;
    switch (content.kind) {
      case 'merge':
        return merge(tx, sender, messageId, message, content);
      case 'person':
        return describe(tx, sender, messageId, message, content);
      default:
        return [
          ...(await addEvents(tx, sender, messageId, message, content)),
          ...(await addBeside(tx, sender, messageId, message)),
        ];
    }
  }

  /**
   * Adds a new description of the person to the recent subjects of a record, and
   * what comes with it. If all of them are another person's, the record has
   * changed hands or the message is wrong: it is held.
   */
  async function describe(
    tx: SystemTx,
    sender: string,
    messageId: string,
    message: InboundMessage,
    {
      sourcePatientId,
      items = [],
    }: Extract<InboundContent, { kind: 'person' }>,
  ): Promise<ChangedSubject[]> {
    const recordKey = keyed(sender, 'record', sourcePatientId);
    const described = personKeysOf(message.person, sender, deps.idHmacKey);
    const of = { sender, recordKey };
    const isHeld = await isRecordOfAnother(tx, of, described, earlier);
    const reported = await addEvents(tx, sender, messageId, message, {
      kind: 'clinical',
      items,
    });
    const leading = await subjectsLeadingTo(tx, sender, recordKey);
    const ids = await recentOf(
      tx,
      leading.filter((id) => !reported.some((each) => each.id === id)),
    );
    const changed: ChangedSubject[] = [];
    for (const id of ids) {
      const isOther =
        !isHeld &&
        isAnotherPerson(
          await personOf(tx, await readSubject(tx, id), earlier),
          described,
        );
      if (isOther) continue;
      await insertInboundEvent(tx, {
        subjectId: id,
        messageId,
        recordKey,
        content: {
          trigger: 'update',
          ...(statedDeath(message.person) !== undefined && { reports: true }),
        },
        describesPerson: describesEnough(message.person),
        isHeld,
      });
      changed.push({ id, isHeld });
    }
    return [...reported, ...changed];
  }

  /**
   * Stores a merge of two records, and returns the subjects that it may move to
   * another person.
   */
  async function merge(
    tx: SystemTx,
    sender: string,
    messageId: string,
    { recordedAt }: InboundMessage,
    {
      priorPatientId,
      sourcePatientId,
    }: Extract<InboundContent, { kind: 'merge' }>,
  ): Promise<ChangedSubject[]> {
    const priorKey = keyed(sender, 'record', priorPatientId);
    const survivingKey = keyed(sender, 'record', sourcePatientId);
    await insertMerge(tx, {
      messageId,
      sender,
      priorKey,
      survivingKey,
      recordedAt,
    });
    const ids = await subjectsLeadingTo(tx, sender, priorKey);
    return ids.map((id) => ({ id, isHeld: false }));
  }

  async function addBeside(
    tx: SystemTx,
    sender: string,
    messageId: string,
    message: InboundMessage,
  ): Promise<ChangedSubject[]> {
    const { beside: items } = message;
    return items === undefined
      ? []
      : addEvents(tx, sender, messageId, message, { kind: 'clinical', items });
  }

  function recordKeyOf(
    sender: string,
    sourcePatientId: string | undefined,
  ): Buffer | undefined {
    return sourcePatientId === undefined
      ? undefined
      : keyed(sender, 'record', sourcePatientId);
  }

  async function addEvents(
    tx: SystemTx,
    sender: string,
    messageId: string,
    { person, sourcePatientId }: InboundMessage,
    content: Exclude<InboundContent, { kind: 'merge' | 'person' }>,
  ): Promise<ChangedSubject[]> {
    const subjects = itemsOf(content)
      .map(({ numbers, ...each }) => ({
        ...each,
        sourceKey: keyed(sender, content.kind, each.sourceId),
        numbers: numberKeysOf(deps.idHmacKey, sender, numbers),
      }))
      .sort((a, b) => Buffer.compare(a.sourceKey, b.sourceKey));
    await lockNumbers(
      tx,
      subjects.flatMap(({ numbers }) => numbers),
    );
    const recordKey = recordKeyOf(sender, sourcePatientId);
    const described = personKeysOf(person, sender, deps.idHmacKey);
    const changed: ChangedSubject[] = [];
    for (const { sourceKey, content: ofSubject, numbers } of subjects) {
      const own = { sender, kind: content.kind, sourceKey };
      const numbered =
        recordKey === undefined
          ? own
          : await identified(tx, own, {
              recordKey,
              numbers,
              beginsAt:
                content.kind === 'encounter'
                  ? timeOfEvent(ofSubject)
                  : undefined,
            });
      const { id, isHeld } = await subjectOf(tx, numbered, {
        recordKey,
        described,
        content: ofSubject,
      });
      if (changed.some((other) => other.id === id)) continue;
      // The sender's id is not stored in the row: it may be a record number.
      const { sourceId: _, ...rest } = ofSubject as { sourceId?: string };
      await insertInboundEvent(tx, {
        subjectId: id,
        messageId,
        recordKey,
        content: rest,
        describesPerson: describesEnough(person),
        isHeld,
      });
      changed.push({ id, isHeld });
      await insertNumbers(tx, { sender, subjectId: id }, numbers);
    }
    if (recordKey === undefined) return changed;
    const keys = subjects.flatMap(({ numbers }) => numbers);
    return withRelated(tx, changed, { sender, recordKey, keys });
  }

  /**
   * Locks the subject of a number; if the number stands for somebody else's, or
   * for another specimen, the one that it is used again for. It is held if the
   * record was another person's until now.
   */
  async function subjectOf(
    tx: SystemTx,
    numbered: Parameters<typeof lockSubject>[1],
    { recordKey, described, content }: Reported,
  ): Promise<ChangedSubject> {
    const first = await lockSubject(tx, numbered);
    if (recordKey === undefined) return { id: first, isHeld: false };
    const of = { sender: numbered.sender, recordKey };
    const own = await usedFor(tx, numbered, recordKey, content);
    let id = first;
    for (const sourceKey of keysOfPersons(deps.idHmacKey, own)) {
      id = await lockSubject(tx, { ...numbered, sourceKey });
      const subject = await readSubject(tx, id);
      if (subject.events.length === 0) break;
      const isOthers =
        (await isUnderRecord(tx, subject, recordKey)) &&
        isAnotherPerson(await personOf(tx, subject, earlier), described);
      if (!isOthers) return { id, isHeld: false };
    }
    return {
      id,
      isHeld: await isRecordOfAnother(tx, of, described, earlier),
    };
  }

  /**
   * What a number, whose subject is locked, stands for in a message: the first
   * subject that had it, or that of another record or specimen.
   */
  async function usedFor(
    tx: SystemTx,
    numbered: Parameters<typeof lockSubject>[1],
    recordKey: Buffer,
    content: object,
  ): Promise<typeof numbered> {
    const { specimen, corrects } = content as Partial<ClinicalItem>;
    const again = (of?: string) => ({
      ...numbered,
      sourceKey: reusedNumberKey(deps.idHmacKey, numbered, recordKey, of),
    });
    const subjectAt = async (of: typeof numbered) => {
      const id = await firstSubject(tx, [of]);
      return id === undefined ? undefined : await readSubject(tx, id);
    };
    if (specimen !== undefined) {
      const ofSpecimen = again(specimen);
      if ((await subjectAt(ofSpecimen)) !== undefined) return ofSpecimen;
    }
    const ofRecord = await subjectAt(again());
    const ofFirst = await subjectAt(numbered);
    const isOfAnother =
      ofRecord !== undefined ||
      (ofFirst !== undefined &&
        (await isSubjectNumberReused(tx, ofFirst, {
          recordKey,
          at: timeOfEvent(content),
          corrects,
        })));
    const known = isOfAnother ? ofRecord : ofFirst;
    const isNew =
      specimen !== undefined &&
      corrects !== true &&
      isOtherSpecimen(known?.events ?? [], specimen);
    if (isNew) return again(specimen);
    return isOfAnother ? again() : numbered;
  }
}

/** A subject that a message may change, now or if somebody accepts it. */
interface ChangedSubject {
  id: string;
  isHeld: boolean;
}

/** What tells whether a number stands for somebody else's subject. */
interface Reported {
  recordKey: Buffer | undefined;
  described: PersonKeys;
  /** What the message says of it. */
  content: object;
}

/** The most important outcome of all subjects of a message. */
export function intakeOutcome(applied: readonly Applied[]): InboundOutcome {
  const all = new Set(applied.map(({ outcome }) => outcome));
  return OUTCOMES.find((outcome) => all.has(outcome)) ?? 'merged';
}

/** What a message says of each encounter, order or result, with its numbers. */
function itemsOf(
  content: Exclude<InboundContent, { kind: 'merge' | 'person' }>,
) {
  if (content.kind === 'encounter') {
    const { sourceId, event, numbers } = content;
    return [{ sourceId, content: event, numbers }];
  }
  return content.items.map(({ numbers, ...item }) => ({
    sourceId: item.sourceId,
    content: item,
    numbers,
  }));
}

/**
 * Those that a message changed, and those joined to them by a number. While one
 * is held, nothing is said of others.
 */
async function withRelated(
  tx: SystemTx,
  changed: readonly ChangedSubject[],
  by: Parameters<typeof relatedTo>[1],
): Promise<ChangedSubject[]> {
  if (changed.some(({ isHeld }) => isHeld)) return [...changed];
  const known = new Set(changed.map(({ id }) => id));
  const related = await relatedTo(tx, by);
  return [
    ...changed,
    ...related
      .filter((id) => !known.has(id))
      .map((id) => ({ id, isHeld: false })),
  ];
}
