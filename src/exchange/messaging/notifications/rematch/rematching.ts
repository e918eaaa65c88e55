import type { BlobStore } from '../../../../shared/blobs/blob-store.ts';
import type { Store } from '../../../platform/database/database.ts';
import { retryOvertaken } from '../../../platform/database/retry.ts';
import { healEach, type Recovery } from '../../../platform/recovery/recovery.ts';
import { applySubject } from '../apply.ts';
import { continueFollowUps } from '../follow-up/continue-follow-ups.ts';
import type { FollowUps } from '../follow-up/follow-ups.ts';
import { lockSender, messagesBeingMatched } from '../inbound-store.ts';
import { matchKey } from '../match-keys.ts';
import { personOfStoredMessage } from '../read-message.ts';
import { type Recordings, startRecordings } from '../recording/recordings.ts';
import {
  deletePatientsToMatch,
  knownMatchKeys,
  lockExistingSubject,
  type PatientToMatch,
  patientsToMatch,
  type SubjectToMatch,
  saveMatchedUntil,
  subjectsWithKey,
  subjectsWithoutKeys,
  updateUnmatched,
} from './rematch-store.ts';

/** Subjects of one patient that a round matches again; the next round continues. */
const SUBJECTS_OF_PATIENT = 100;

/**
 * Matches messages again when a patient is created or changed, in any account and by any writer: triggers note such patients
 * (migration 0049), and each round of `reconcile` takes up a slice of them.
 * (docs/decisions/0082-messages-are-matched-again.md)
 */
export function messageRematching(deps: {
  store: Store;
  blobs: BlobStore;
  followUps: Pick<FollowUps, 'launch' | 'wake'>;
  recordings: Pick<Recordings, 'launch'>;
  /** ID_HMAC_KEY */
  idHmacKey: string;
}): [ofPatients: Recovery, ofOlderMessages: Recovery] {
  const { store, idHmacKey } = deps;
  const personOfMessage = personOfStoredMessage(deps.blobs);

  async function rematch({ id, sender }: SubjectToMatch): Promise<boolean> {
    const applied = await retryOvertaken(() =>
      store.asSystem(async (tx) => {
        await lockSender(tx, sender, 'shared');
        if (!(await lockExistingSubject(tx, id))) return undefined;
        const result = await applySubject(tx, id, { personOfMessage, idHmacKey });
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

  const keyOf = ({ birthDate, zip }: PatientToMatch): string =>
    matchKey(birthDate ?? '', zip ?? '', idHmacKey).toString('hex');

  const ofPatients: Recovery = {
    name: 'patients to match with messages',
    async takeUp({ limit, signal, cursor }) {
      const noted = await store.asSystem((tx) => patientsToMatch(tx, { after: cursor, limit }));
      if (noted.length === 0) return { found: 0, healed: 0, failures: [] };
      // A message that is being taken in may not have seen these patients, and its subject is not yet visible here.
      await store.asSystem(messagesBeingMatched);
      const known = await store.asSystem((tx) => knownMatchKeys(tx, noted.map(keyOf)));
      const [mentioned, others] = [true, false].map((is) =>
        noted.filter((each) => known.has(keyOf(each)) === is),
      );
      await store.asSystem((tx) =>
        deletePatientsToMatch(
          tx,
          (others ?? []).map(({ id }) => id),
        ),
      );
      let isUnfinished = false;
      const { looked, ...taken } = await healEach(mentioned ?? [], {
        signal,
        heal: async (patient) => {
          const { id, matchedUntil: after } = patient;
          const page = { key: keyOf(patient), after, limit: SUBJECTS_OF_PATIENT };
          const subjects = await store.asSystem((tx) => subjectsWithKey(tx, page));
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
      const isBehind = isFull || isUnfinished || looked < (mentioned ?? []).length;
      return { ...taken, isBehind, cursor: isFull ? noted.at(-1)?.id : undefined };
    },
  };

  const ofOlderMessages: Recovery = {
    name: 'messages without match keys',
    async takeUp({ limit, signal, cursor }) {
      const subjects = await store.asSystem((tx) => subjectsWithoutKeys(tx, { after: cursor, limit }));
      const { looked, ...taken } = await healEach(subjects, { signal, heal: rematch });
      const isFull = subjects.length === limit;
      return {
        ...taken,
        isBehind: isFull && taken.failures.length < looked,
        cursor: isFull ? subjects.at(-1)?.id : undefined,
      };
    },
  };

  return [ofPatients, ofOlderMessages];
}
