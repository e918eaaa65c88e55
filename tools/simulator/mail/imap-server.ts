import { createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer, TLSSocket } from 'node:tls';
import type { FolderMail, MailFolder } from './mail-folder.ts';

export interface MailLogin {
  user: string;
  password: string;
}

/** How a mail server encrypts its connections. */
export interface MailTls {
  /** PEM */
  cert: string;
  /** PEM */
  key: string;
  /** Else after STARTTLS, without which nobody logs in. */
  fromFirstByte: boolean;
}

/**
 * As much of an IMAP server (RFC 3501) as a reader needs: one folder, INBOX,
 * that can be opened, listed and fetched by UID. No well-kept server for Node.js
 * was found; that clients of others read it like any is seen with a foreign
 * server in test/foreign.
 */
export function createImapServer(
  login: MailLogin,
  inbox: MailFolder,
  tls?: MailTls,
): Server {
  const greet = (socket: Socket, startTls?: () => void) => {
    converse(socket, new ImapSession(socket, login, inbox, startTls));
    socket.write('* OK IMAP4rev1 ready\r\n');
  };
  if (tls === undefined) return createServer((socket) => greet(socket));
  if (tls.fromFirstByte) return createTlsServer(tls, (socket) => greet(socket));

  return createServer((socket) =>
    greet(socket, () => {
      socket.removeAllListeners('data');
      const secured = new TLSSocket(socket, { ...tls, isServer: true });
      converse(secured, new ImapSession(secured, login, inbox));
    }),
  );
}

function converse(socket: Socket, session: ImapSession): void {
  let received = '';

  socket.setEncoding('latin1');
  socket.on('error', () => socket.destroy());
  socket.on('data', (text: string) => {
    const lines = (received + text).split('\r\n');
    received = lines.pop() ?? '';
    for (const line of lines) session.handle(line);
  });
}

class ImapSession {
  private readonly socket: Socket;
  private readonly login: MailLogin;
  private readonly inbox: MailFolder;
  /** Set where the connection has to be encrypted first. */
  private readonly startTls: (() => void) | undefined;
  #isIn = false;

  constructor(
    socket: Socket,
    login: MailLogin,
    inbox: MailFolder,
    startTls?: () => void,
  ) {
    this.socket = socket;
    this.login = login;
    this.inbox = inbox;
    this.startTls = startTls;
  }

  handle(line: string): void {
    const [, tag = '*', name = '', rest = ''] =
      /^(\S+) ((?:UID )?\S+) ?(.*)$/i.exec(line) ?? [];
    const end = this.#answer(name.toUpperCase(), rest);
    this.socket.write(`${tag} ${end}\r\n`);
    if (name.toUpperCase() === 'LOGOUT') this.socket.end();
    if (name.toUpperCase() === 'STARTTLS') this.startTls?.();
  }

  #answer(name: string, rest: string): string {
    switch (name) {
      case 'CAPABILITY':
        this.socket.write(
          `* CAPABILITY IMAP4rev1${this.startTls ? ' STARTTLS LOGINDISABLED' : ''}\r\n`,
        );
        return 'OK done';
      case 'STARTTLS':
        return this.startTls ? 'OK begin' : 'BAD unknown command';
      case 'LOGIN':
        if (this.startTls) return 'NO [PRIVACYREQUIRED] encrypt first';
        this.#isIn = this.#isOurs(rest);
        return this.#isIn
          ? 'OK logged in'
          : 'NO [AUTHENTICATIONFAILED] no such login';
      case 'NOOP':
        return 'OK done';
      case 'LOGOUT':
        this.socket.write('* BYE\r\n');
        return 'OK done';
      default:
        return this.#isIn ? this.#answerInside(name, rest) : 'NO log in first';
    }
  }

  #answerInside(name: string, rest: string): string {
    switch (name) {
      case 'LIST':
      case 'LSUB':
        this.socket.write(`* ${name} () "/" INBOX\r\n`);
        return 'OK done';
      case 'SELECT':
      case 'EXAMINE':
        return this.#open(rest);
      case 'UID FETCH':
        return this.#fetch(rest);
      default:
        return 'BAD unknown command';
    }
  }

  #isOurs(given: string): boolean {
    const [user, password] = [...given.matchAll(/"([^"]*)"|(\S+)/g)].map(
      ([, quoted, plain]) => quoted ?? plain,
    );

    return user === this.login.user && password === this.login.password;
  }

  #open(folder: string): string {
    if (!/^"?INBOX"?$/i.test(folder)) return 'NO there is only INBOX';
    const { mails, uidValidity, uidNext } = this.inbox;
    this.socket.write(
      [
        '* FLAGS (\\Seen)',
        `* ${mails.length} EXISTS`,
        '* 0 RECENT',
        `* OK [UIDVALIDITY ${uidValidity}] valid`,
        `* OK [UIDNEXT ${uidNext}] next`,
        '',
      ].join('\r\n'),
    );

    return 'OK [READ-ONLY] opened';
  }

  #fetch(rest: string): string {
    const [, range = '', items = ''] = /^(\S+) (.*)$/.exec(rest) ?? [];
    const last = this.inbox.uidNext - 1;
    const [from = 0, to = from] = range
      .split(':')
      .map((each) => (each === '*' ? last : Number(each)));
    // A range in any order, and one to the end always has the last message.
    const low = Math.min(from, to);
    const high = Math.max(from, to);
    for (const [index, mail] of this.inbox.mails.entries())
      if (mail.uid >= low && mail.uid <= high)
        this.#write(index + 1, mail, items.toUpperCase());

    return 'OK done';
  }

  #write(place: number, { uid, arrivedAt, bytes }: FolderMail, items: string) {
    const facts = [`UID ${uid}`];
    if (items.includes('RFC822.SIZE'))
      facts.push(`RFC822.SIZE ${bytes.length}`);
    if (items.includes('INTERNALDATE'))
      facts.push(`INTERNALDATE "${internalDate(arrivedAt)}"`);
    const hasBody = items.includes('BODY.PEEK[]');
    if (hasBody) facts.push(`BODY[] {${bytes.length}}`);

    this.socket.write(`* ${place} FETCH (${facts.join(' ')}`);
    if (hasBody) {
      this.socket.write('\r\n');
      this.socket.write(bytes);
    }
    this.socket.write(')\r\n');
  }
}

/** `29-Nov-2026 12:00:00 +0000` */
function internalDate(at: Date): string {
  const [, day, month, year, time] = at.toUTCString().split(' ');

  return `${day}-${month}-${year} ${time} +0000`;
}
