/** A message in a folder, as IMAP shows it. */
export interface FolderMail {
  uid: number;
  arrivedAt: Date;
  bytes: Buffer;
}

/** The inbox of the exchange. Kept in memory: a restart begins a new one. */
export class MailFolder {
  readonly uidValidity = Math.floor(Date.now() / 1000);
  #mails: FolderMail[] = [];
  #lastUid = 0;

  get mails(): readonly FolderMail[] {
    return this.#mails;
  }

  get uidNext(): number {
    return this.#lastUid + 1;
  }

  deliver(bytes: Buffer, arrivedAt: Date = new Date()): void {
    this.#lastUid += 1;
    this.#mails.push({ uid: this.#lastUid, arrivedAt, bytes });
  }

  /** Deletes all messages. Their numbers are not given again. */
  empty(): void {
    this.#mails = [];
  }
}
