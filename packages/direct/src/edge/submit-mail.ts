import SMTPConnection from 'nodemailer/lib/smtp-connection';
import {
  faultInWords,
  type MailServer,
  MailServerError,
  tlsOfServer,
} from './mail-server.ts';

/** A message for one recipient, as it goes over the wire. */
export interface MailToSubmit {
  from: string;
  to: string;
  bytes: Buffer;
}

/**
 * What the server said of a message. `accepted`: it answers for it now. All
 * others are final (5xx).
 */
export type SubmissionAnswer =
  | 'accepted'
  | 'unknown-recipient'
  | 'too-large'
  | 'refused';

/** Silence for so long is a broken connection. */
const SILENCE_MS = 60_000;
const CONNECT_MS = 15_000;

/**
 * Hands a message to a server by SMTP submission (RFC 6409), with TLS and
 * login. A connection for each message: what one recipient causes touches no
 * other.
 *
 * @throws {MailServerError} when it may help to try later: 4xx, a refused
 * login, no connection
 */
export async function submitMail(
  server: MailServer,
  { from, to, bytes }: MailToSubmit,
  signal?: AbortSignal,
): Promise<SubmissionAnswer> {
  const connection = new SMTPConnection({
    host: server.host,
    port: server.port,
    secure: server.security === 'tls',
    requireTLS: server.security === 'starttls',
    ignoreTLS: server.security === 'none',
    tls: tlsOfServer(server),
    name: 'medical-data-exchange',
    connectionTimeout: CONNECT_MS,
    greetingTimeout: CONNECT_MS,
    socketTimeout: SILENCE_MS,
  });
  const abort = () => connection.close();
  signal?.addEventListener('abort', abort);

  try {
    await settled(connection, (done) => connection.connect(done));
    const { login } = server;
    if (login !== undefined)
      await settled(connection, (done) =>
        connection.login({ user: login.user, pass: login.password }, done),
      );
    const envelope = { from, to: [to], size: bytes.length };
    await settled(connection, (done) => connection.send(envelope, bytes, done));
    connection.quit();

    return 'accepted';
  } catch (error) {
    connection.close();
    if (signal?.aborted === true) throw signal.reason;

    return finalAnswer(readFault(error));
  } finally {
    signal?.removeEventListener('abort', abort);
  }
}

/** One step on the connection, which also ends when the connection does. */
function settled(
  connection: SMTPConnection,
  step: (done: (error?: Error | null) => void) => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const gone = () => reject(new MailServerError('The connection ended.'));
    connection.once('error', reject);
    connection.once('end', gone);
    step((error) => {
      connection.off('error', reject);
      connection.off('end', gone);
      if (error) reject(error);
      else resolve();
    });
  });
}

interface Fault {
  /** nodemailer's: `EENVELOPE`, `EMESSAGE`, `EAUTH`, `ETLS`, … */
  code: string | undefined;

  /** Of the connection, behind nodemailer's: `ECONNREFUSED`, … */
  originalCode: string | undefined;

  /** 550; undefined when the server did not answer. */
  status: number | undefined;

  /** 5.1.1 (RFC 3463) */
  detail: string | undefined;
}

function readFault(error: unknown): Fault {
  const {
    code,
    originalCode,
    responseCode: status,
    response = '',
  } = error as {
    code?: string;
    originalCode?: string;
    responseCode?: number;
    response?: string;
  };

  return {
    code,
    originalCode,
    status,
    detail: /\b[245]\.\d{1,3}\.\d{1,3}\b/.exec(response)?.[0],
  };
}

function finalAnswer(fault: Fault): SubmissionAnswer {
  const { code, originalCode = code, status, detail } = fault;
  // Before a byte is sent, by the size that the server says it takes.
  if (code === 'EMESSAGE' && status === undefined) return 'too-large';

  const isOfMessage = code === 'EENVELOPE' || code === 'EMESSAGE';
  if (!isOfMessage || status === undefined || !isFinal(status)) {
    const what = [
      originalCode && faultInWords(originalCode),
      status,
      detail,
    ].filter((each) => each !== undefined);
    throw new MailServerError(
      `The mail server did not take the message (${what.join(' ') || 'no answer'})`,
    );
  }
  if (status === 552 || TOO_LARGE.has(detail ?? '')) return 'too-large';
  if (UNKNOWN_RECIPIENT.has(detail ?? '')) return 'unknown-recipient';

  return detail === undefined && status === 550
    ? 'unknown-recipient'
    : 'refused';
}

/** A login that is asked for, or refused, is the operator's to mend. */
const isFinal = (status: number): boolean =>
  status >= 500 && (status < 530 || status > 538);

const TOO_LARGE: ReadonlySet<string> = new Set(['5.2.3', '5.3.4']);
const UNKNOWN_RECIPIENT: ReadonlySet<string> = new Set([
  '5.1.1',
  '5.1.2',
  '5.1.3',
  '5.1.6',
  '5.1.10',
  '5.2.1',
]);
