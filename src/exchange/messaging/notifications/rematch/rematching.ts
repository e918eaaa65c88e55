import { sql } from 'kysely';
import type { SystemTx } from '../../../platform/database/database.ts';
import { byteaArray, textArray } from '../../../platform/database/pg-arrays.ts';
import { retryOvertaken } from '../../../platform/database/retry.ts';
import {
  healEach,
  type Recovery,
} from '../../../platform/recovery/recovery.ts';
import { applySubject } from '../apply.ts';
import { continueFollowUps } from '../follow-up/follow-ups.ts';
import {
  lockExistingSubject,
  lockSender,
  messagesBeingMatched,
} from '../inbound-store.ts';
import type { IntakeDeps } from '../intake.ts';
import { matchKey } from '../match.ts';
import { personOfStoredMessage } from '../person-of-subject.ts';
import { startRecordings } from '../recording/recordings.ts';
import type { InboundOutcome } from '../tables.ts';

/**
 * Subjects of one patient that a round matches again; the next round continues.
 */
const SUBJECTS_OF_PATIENT = 100;

/**
 * Matches messages again when a patient is created or changed, in any account
 * and by any writer: triggers note such patients, and each round of `reconcile`
 * takes up a slice of them. (docs/decisions/0027-matching-notifications.md)
 */
export function messageRematching(deps: Omit<IntakeDeps, 'logger'>): Recovery {
  const { store, idHmacKey } = deps;
  const personOfMessage = personOfStoredMessage(deps.blobs);

  async function rematch({ id, sender }: SubjectToMatch): Promise<boolean> {
    const applied = await retryOvertaken(() =>
      store.asSystem(async (tx) => {
        await lockSender(tx, sender, 'shared');
        if (!(await lockExistingSubject(tx, id))) return undefined;
        const result = await applySubject(tx, id, {
          personOfMessage,
          idHmacKey,
        });
        await updateUnmatched(tx, id, result.outcome);
        return result;
      }),
    );
    if (applied !== undefined) {
      continueFollowUps(deps.followUps, [applied]);
      startRecordings(deps.recordings, [applied]);
    }
    return applied !== undefined;
  }

  const rematchKey = ({ birthDate, zip }: PatientToMatch): string =>
    matchKey(birthDate ?? '', zip ?? '', idHmacKey).toString('hex');

  return {
    name: 'patients to match with messages',
    async takeUp({ limit, signal, cursor }) {
      const noted = await store.asSystem((tx) =>
        patientsToMatch(tx, { after: cursor, limit }),
      );
      if (noted.length === 0) return { found: 0, healed: 0, failures: [] };
      // A message that is being taken in may not have seen these patients, and
      // its subject is not yet visible here.
      await store.asSystem(messagesBeingMatched);
      const known = await store.asSystem((tx) =>
        knownMatchKeys(tx, noted.map(rematchKey)),
      );
      const mentioned = noted.filter((each) => known.has(rematchKey(each)));
      const others = noted.filter((each) => !known.has(rematchKey(each)));
      await store.asSystem((tx) =>
        deletePatientsToMatch(
          tx,
          others.map(({ id }) => id),
        ),
      );
      let isUnfinished = false;
      const { looked, ...taken } = await healEach(mentioned, {
        signal,
        heal: async (patient) => {
          const { id, matchedUntil: after } = patient;
          const page = {
            key: rematchKey(patient),
            after,
            limit: SUBJECTS_OF_PATIENT,
          };
          const subjects = await store.asSystem((tx) =>
            subjectsWithKey(tx, page),
          );
          const each = await healEach(subjects, { signal, heal: rematch });
          const last = subjects.at(-1);
          // The whole slice is repeated by the next round.
          if (each.failures.length > 0) throw each.failures[0];
          const isCut = each.looked < subjects.length;
          if (isCut || subjects.length === page.limit) isUnfinished = true;
          if (isCut) return false;
          await store.asSystem((tx) =>
            last !== undefined && subjects.length === page.limit
              ? saveMatchedUntil(tx, id, last.id)
              : deletePatientsToMatch(tx, [id]),
          );
          return true;
        },
      });
      const isFull = noted.length === limit;
      const isBehind =
        isFull || isUnfinished || looked < (mentioned ?? []).length;
      return {
        ...taken,
        isBehind,
        cursor: isFull ? noted.at(-1)?.id : undefined,
      };
    },
  };
}

/** Subjects without a message for this long are not matched again. */
const RECENT = sql`s.updated_at > now() - interval '90 days'`;

interface PatientToMatch {
  id: string;
  /** Undefined when the patient was deleted. */
  birthDate?: string;
  zip?: string;
  matchedUntil: string | null;
  since: Date;
}

interface SubjectToMatch {
  id: string;
  sender: string;
  since: Date;
}

/**
 * Patients whose matching data is new, from the oldest on. The zip is that of
 * findCandidates.
 */
async function patientsToMatch(
  tx: SystemTx,
  { after = '0', limit }: { after?: string; limit: number },
): Promise<PatientToMatch[]> {
  const { rows } = await sql<PatientToMatch>`
    select w.id::text as id, p.dob as "birthDate", left(p.addresses -> 0 ->> 'zip', 5) as zip,
      w.matched_until as "matchedUntil", w.noted_at as since
    from patient_to_match w left join patient p on p.id = w.patient_id
    where w.id > ${after}::bigint order by w.id limit ${limit}
  `.execute(tx.db);
  return rows;
}

/** The keys (hex) under which recent subjects are found, among these. */
async function knownMatchKeys(
  tx: SystemTx,
  keys: readonly string[],
): Promise<Set<string>> {
  const { rows } = await sql<{ key: string }>`
    select encode(k.key, 'hex') as key
    from unnest(${byteaArray(keys.map((key) => Buffer.from(key, 'hex').toString('latin1')))}::bytea[]) as k(key)
    where exists (select from inbound_subject s where s.match_keys @> array[k.key] and ${RECENT})
  `.execute(tx.db);
  return new Set(rows.map(({ key }) => key));
}

/** Recent subjects under a key (hex), in the order of their ids. */
async function subjectsWithKey(
  tx: SystemTx,
  { key, after, limit }: { key: string; after: string | null; limit: number },
): Promise<SubjectToMatch[]> {
  const { rows } = await sql<SubjectToMatch>`
    select s.id, s.sender, s.updated_at as since from inbound_subject s
    where s.match_keys @> array[decode(${key}, 'hex')] and ${RECENT}
      and (${after}::uuid is null or s.id > ${after}::uuid)
    order by s.id limit ${limit}
  `.execute(tx.db);
  return rows;
}

async function saveMatchedUntil(
  tx: SystemTx,
  id: string,
  subjectId: string,
): Promise<void> {
  await sql`update patient_to_match set matched_until = ${subjectId} where id = ${id}::bigint`.execute(
    tx.db,
  );
}

async function deletePatientsToMatch(
  tx: SystemTx,
  ids: readonly string[],
): Promise<void> {
  await sql`
    delete from patient_to_match where id = any(${textArray(ids)}::text[]::bigint[])
  `.execute(tx.db);
}

/**
 * Sets the outcome of those messages about a subject for which no patient was
 * found before.
 */
async function updateUnmatched(
  tx: SystemTx,
  subjectId: string,
  outcome: InboundOutcome,
): Promise<void> {
  await sql`
    update inbound_message set outcome = ${outcome}
    where id in (select message_id from inbound_event where subject_id = ${subjectId})
      and outcome in ('unmatched', 'ambiguous', 'incomplete')
  `.execute(tx.db);
}
