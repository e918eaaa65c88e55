import type { SystemTx } from '../../platform/database/database.ts';
import {
  firstSubject,
  lockExistingSubject,
  readSubject,
  type StoredSubject,
} from './inbound-store.ts';
import {
  type NumberKey,
  readNumbers,
  subjectsWithNumber,
} from './number-store.ts';
import { isUnderRecord, timeOfEvent } from './person-of-subject.ts';

/*
 * Subjects that belong together by their numbers, all under one record of one
 * sender (docs/decisions/0411-joined-by-number.md).
 */

type Numbered = Pick<StoredSubject, 'sender' | 'kind' | 'sourceKey'>;

/**
 * Under which number the subject of a message is known: its own, or that of the
 * only other one which it identifies, as of a stay whose number came without its
 * authority. Two that begin at different times stay two.
 */
export async function identified(
  tx: SystemTx,
  numbered: Numbered,
  {
    recordKey,
    numbers,
    beginsAt,
  }: { recordKey: Buffer; numbers: readonly NumberKey[]; beginsAt?: string },
): Promise<Numbered> {
  const keys = numbers.filter(({ role }) => role === 'identifies');
  if (keys.length === 0) return numbered;
  if ((await firstSubject(tx, [numbered])) !== undefined) return numbered;
  const { sender, kind } = numbered;
  const ids = await subjectsWithNumber(tx, {
    sender,
    keys,
    roles: ['identifies'],
  });
  const fitting: StoredSubject[] = [];
  for (const id of ids) {
    const subject = await readSubject(tx, id);
    const isSame =
      subject.kind === kind &&
      (await isUnderRecord(tx, subject, recordKey)) &&
      isOfOneTime(subject, beginsAt);
    if (isSame) fitting.push(subject);
  }
  const [only, ...others] = fitting;
  return only === undefined || others.length > 0
    ? numbered
    : { sender, kind, sourceKey: only.sourceKey };
}

function isOfOneTime({ events }: StoredSubject, at: string | undefined) {
  const times = events.flatMap(({ content }) => timeOfEvent(content) ?? []);
  return at === undefined || times.length === 0 || times.includes(at);
}

/**
 * The subjects that refer to one of these numbers, or that these refer to: what
 * is recorded of them may change. Their rows are locked.
 */
export async function relatedTo(
  tx: SystemTx,
  of: { sender: string; recordKey: Buffer; keys: readonly NumberKey[] },
): Promise<string[]> {
  const found = new Set([
    ...(await subjectsWithNumber(tx, {
      sender: of.sender,
      keys: of.keys.filter(({ role }) => role === 'own'),
      roles: ['refers'],
    })),
    ...(await subjectsWithNumber(tx, {
      sender: of.sender,
      keys: of.keys.filter(({ role }) => role === 'refers'),
      roles: ['own'],
    })),
  ]);
  const related: string[] = [];
  for (const id of [...found].sort()) {
    if (!(await lockExistingSubject(tx, id))) continue;
    const subject = await readSubject(tx, id);
    if (await isUnderRecord(tx, subject, of.recordKey)) related.push(id);
  }
  return related;
}

/**
 * The subjects that a subject refers to by its numbers, of this kind and under
 * its record. If its most telling number finds one, that is the only one.
 */
export async function referredToBy(
  tx: SystemTx,
  subject: StoredSubject,
  kind: StoredSubject['kind'],
): Promise<StoredSubject[]> {
  const keys = (await readNumbers(tx, subject.id)).filter(
    ({ role }) => role === 'refers',
  );
  const exact = await subjectsOfRecord(tx, subject, kind, {
    keys,
    roles: ['identifies'],
  });
  if (exact.length > 0) return exact;
  return subjectsOfRecord(tx, subject, kind, { keys, roles: ['own'] });
}

/** The subjects that refer to a subject, of this kind and under its record. */
export async function referringTo(
  tx: SystemTx,
  subject: StoredSubject,
  kind: StoredSubject['kind'],
): Promise<StoredSubject[]> {
  const keys = (await readNumbers(tx, subject.id)).filter(
    ({ role }) => role === 'own',
  );
  return subjectsOfRecord(tx, subject, kind, { keys, roles: ['refers'] });
}

async function subjectsOfRecord(
  tx: SystemTx,
  { id: own, sender, events }: StoredSubject,
  kind: StoredSubject['kind'],
  search: Omit<Parameters<typeof subjectsWithNumber>[1], 'sender'>,
): Promise<StoredSubject[]> {
  const recordKey = events.findLast((event) => event.recordKey)?.recordKey;
  if (!recordKey) return [];
  const found: StoredSubject[] = [];
  for (const id of await subjectsWithNumber(tx, { sender, ...search })) {
    if (id === own) continue;
    const other = await readSubject(tx, id);
    if (other.kind === kind && (await isUnderRecord(tx, other, recordKey)))
      found.push(other);
  }
  return found;
}
