import { createServer, type Server, type Socket } from 'node:net';
import type { FolderMail, MailFolder } from './mail-folder.ts';

export interface MailLogin {
  user: string;
  password: string;
}

/**
 * As much of an IMAP server (RFC 3501) as a reader needs: one folder, INBOX,
 * that can be opened, listed and fetched by UID. No well-kept server for Node.js
 * was found; that clients of others read it like any is seen with a foreign
 * server in test/foreign.
 */
export function createImapServer(login: MailLogin, inbox: MailFolder): Server {
  return createServer((socket) => {
    const session = new ImapSession(socket, login, inbox);
    let received = '';

    socket.setEncoding('latin1');
    socket.on('error', () => socket.destroy());
    socket.on('data', (text: string) => {
      const lines = (received + text).split('\r\n');
      received = lines.pop() ?? '';
      for (const line of lines) session.handle(line);
    });
    socket.write('* OK IMAP4rev1 ready\r\n');
  });
}

class ImapSession {
  private readonly socket: Socket;
  private readonly login: MailLogin;
  private readonly inbox: MailFolder;
  #isIn = false;

  constructor(socket: Socket, login: MailLogin, inbox: MailFolder) {
    this.socket = socket;
    this.login = login;
    this.inbox = inbox;
  }

  handle(line: string): void {
    const [, tag = '*', name = '', rest = ''] =
      /^(\S+) ((?:UID )?\S+) ?(.*)$/i.exec(line) ?? [];
    const end = this.#answer(name.toUpperCase(), rest);
    this.socket.write(`${tag} ${end}\r\n`);
    if (name.toUpperCase() === 'LOGOUT') this.socket.end();
  }

  #answer(name: string, rest: string): string {
    switch (name) {
      case 'CAPABILITY':
        this.socket.write('* CAPABILITY IMAP4rev1\r\n');
        return 'OK done';
      case 'LOGIN':
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
