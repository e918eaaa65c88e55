import { MailServerError, readMailbox } from '#direct';
import type { MailboxRead } from '../../../../contract/direct-mailbox-workflow.ts';
import type { KeyRing } from '../../../../lib/key-ring.ts';
import { openMailbox } from './mailbox-settings.ts';
import {
  findMailbox,
  noteReading,
  type StoredMailbox,
} from './mailbox-store.ts';
import { type TakeMailDeps, takeMail } from './take-mail.ts';

/** 20 MB of attachments, twice in base64 when they are encrypted. */
const MAIL_BYTES_MAX = 45_000_000;

export function createMailboxReader(deps: TakeMailDeps & { keyRing: KeyRing }) {
  const { store, keyRing } = deps;

  return {
    /**
     * Takes in what has come into an account's mailbox since it was last read,
     * one message after the other. Each is taken in before the place after it
     * is stored, and known when it is read again.
     *
     * @throws {MailServerError} when the mailbox cannot be read, or a sender
     * cannot be notified, now
     */
    async read(accountId: string, signal?: AbortSignal): Promise<MailboxRead> {
      const counts = { ...NOTHING };
      const stored = await store.asAccount(accountId, (tx) =>
        findMailbox(tx, accountId),
      );
      if (stored === undefined) return { ...counts, isGone: true };

      const note = (reading: Parameters<typeof noteReading>[2]) =>
        store.asAccount(accountId, (tx) => noteReading(tx, stored, reading));
      const mailbox = openMailbox(keyRing, stored);
      const beganAt = new Date();
      const mails = readMailbox(mailbox.imap, {
        folder: mailbox.settings.folder,
        since: positionOf(stored),
        bytesMax: MAIL_BYTES_MAX,
        signal,
      });
      try {
        for await (const mail of mails) {
          const takenAs = await takeMail(deps, accountId, mailbox, mail);
          counts[takenAs] += 1;
          await note(mail.position);
        }
        await note({ readThrough: beganAt, fault: null });
      } catch (error) {
        if (error instanceof MailServerError)
          await note({ fault: error.message });
        throw error;
      }
      return { ...counts, isGone: false };
    },
  };
}

const NOTHING = { received: 0, known: 0, receipts: 0, returned: 0, ignored: 0 };

const positionOf = ({ uidValidity, lastUid }: StoredMailbox) =>
  uidValidity === null ? undefined : { uidValidity, lastUid };
