import { type FetchMessageObject, ImapFlow } from 'imapflow';
import {
  faultInWords,
  type MailServer,
  MailServerError,
  tlsOfServer,
} from './mail-server.ts';

/** How far a folder was read: every message up to this one. */
export interface MailboxPosition {
  /** Of the folder: another one means that its numbers begin anew. */
  uidValidity: string;

  lastUid: number;
}

/** A message in the folder. */
export interface ArrivedMail {
  /** The position after it. */
  position: MailboxPosition;

  /** When its server took it (INTERNALDATE). */
  arrivedAt: Date;

  bytes: Buffer;

  /** False for the beginning of a message that is larger than `bytesMax`. */
  isWhole: boolean;
}

export interface MailboxToRead {
  /** INBOX, mostly. */
  folder: string;

  /** Where an earlier reading ended; undefined for all that is there. */
  since: MailboxPosition | undefined;

  bytesMax: number;
  signal?: AbortSignal | undefined;
}

/** In the error of a server that does not let us in: no later try helps. */
export const LOGIN_REFUSED = 'login refused';

const CONNECT_MS = 15_000;
/** Enough for the headers. */
const BEGINNING_BYTES = 64 * 1024;
/** Silence for so long is a broken connection. */
const SILENCE_MS = 60_000;

/**
 * Reads what has come into a folder by IMAP, one message after the other in the
 * order of arrival. Nothing is changed or deleted there.
 *
 * @throws {MailServerError} when the server cannot be read now
 */
export async function* readMailbox(
  server: MailServer,
  { folder, since, bytesMax, signal }: MailboxToRead,
): AsyncGenerator<ArrivedMail, void> {
  const client = new ImapFlow({
    host: server.host,
    port: server.port,
    secure: server.security === 'tls',
    doSTARTTLS: server.security === 'starttls',
    tls: tlsOfServer(server),
    auth: { user: server.login?.user ?? '', pass: server.login?.password },
    logger: false,
    disableAutoIdle: true,
    disableCompression: true,
    connectionTimeout: CONNECT_MS,
    greetingTimeout: CONNECT_MS,
    socketTimeout: SILENCE_MS,
  });
  const abort = () => client.close();
  signal?.addEventListener('abort', abort);
  // Without a listener, an error of the socket would end the process.
  client.on('error', () => {});

  try {
    await answered(client.connect());
    const { uidValidity } = await answered(
      client.mailboxOpen(folder, { readOnly: true }),
    );
    const isSame = since?.uidValidity === String(uidValidity);
    const after = isSame ? since.lastUid : 0;

    for (const { uid, size = 0 } of await answered(newSince(client, after))) {
      const isWhole = size <= bytesMax;
      const found = await answered(
        client.fetchOne(
          String(uid),
          {
            internalDate: true,
            source: isWhole || { maxLength: BEGINNING_BYTES },
          },
          { uid: true },
        ),
      );
      // Deleted by somebody else since it was listed.
      if (found === false || found.source === undefined) continue;

      yield {
        position: { uidValidity: String(uidValidity), lastUid: uid },
        arrivedAt: new Date(found.internalDate ?? Date.now()),
        bytes: found.source,
        isWhole,
      };
    }
  } finally {
    signal?.removeEventListener('abort', abort);
    client.close();
  }
}

/** A range to the end always has the last message, be it an old one. */
async function newSince(
  client: ImapFlow,
  after: number,
): Promise<FetchMessageObject[]> {
  const found = await client.fetchAll(
    `${after + 1}:*`,
    { uid: true, size: true },
    { uid: true },
  );

  return found
    .filter(({ uid }) => uid > after)
    .sort((one, other) => one.uid - other.uid);
}

async function answered<T>(call: Promise<T>): Promise<T> {
  try {
    return await call;
  } catch (error) {
    throw new MailServerError(
      `The mailbox cannot be read (${faultOf(error as ImapFault)})`,
    );
  }
}

/** What imapflow puts on its errors. */
interface ImapFault {
  code?: string;
  authenticationFailed?: boolean;
  /** The server offers no STARTTLS, or the handshake failed. */
  tlsFailed?: boolean;
}

function faultOf({ code, authenticationFailed, tlsFailed }: ImapFault): string {
  if (authenticationFailed === true) return LOGIN_REFUSED;
  if (code !== undefined) return faultInWords(code);

  return tlsFailed === true ? 'no TLS' : 'no answer';
}
