import type { AddressInfo, Server } from 'node:net';
import {
  createImapServer,
  type MailLogin,
  type MailTls,
} from './imap-server.ts';
import { MailFolder } from './mail-folder.ts';
import { answerMail } from './recipient.ts';
import { createSmtpServer, type TakenMail } from './smtp-server.ts';

export interface MailSystemOptions {
  login: MailLogin;
  /** Of both servers; default: they do not encrypt. */
  tls?: MailTls | undefined;
  /** Default: any free ones. */
  smtpPort?: number | undefined;
  imapPort?: number | undefined;
  /** Default 127.0.0.1. */
  host?: string | undefined;
  /** Between two things that a recipient says; default 1 s. */
  delayMs?: number | undefined;
}

/** The newest of what was taken; older ones are forgotten. */
const TAKEN_MAX = 200;

/**
 * A provider of Direct (HISP) at its edge, with the systems of all recipients
 * behind it: mail goes in by SMTP, and comes out of an inbox by IMAP.
 */
export async function startMailSystem({
  login,
  tls,
  smtpPort = 0,
  imapPort = 0,
  host = '127.0.0.1',
  delayMs = 1_000,
}: MailSystemOptions) {
  const inbox = new MailFolder();
  const taken: TakenMail[] = [];
  const take = (each: TakenMail) => {
    taken.push(each);
    if (taken.length > TAKEN_MAX) taken.shift();
    // A notification is not answered: that would go on for ever.
    if (each.mail !== undefined && each.mail.report === undefined)
      void answerMail(inbox, each.mail, each.to, delayMs);
  };
  const smtp = createSmtpServer(
    login,
    take,
    tls && { ...tls, secure: tls.fromFirstByte },
  );
  // A client that ends the connection while TLS begins.
  smtp.on('error', () => {});
  const imap = createImapServer(login, inbox, tls);
  await Promise.all([
    listen(smtp.server, smtpPort, host),
    listen(imap, imapPort, host),
  ]);

  return {
    smtpPort: portOf(smtp.server),
    imapPort: portOf(imap),
    inbox,
    taken,
    close: async () => {
      await new Promise<void>((resolve) => smtp.close(() => resolve()));
      await new Promise<void>((resolve) => imap.close(() => resolve()));
    },
  };
}

export type MailSystem = Awaited<ReturnType<typeof startMailSystem>>;

function listen(server: Server, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => resolve());
  });
}

const portOf = (server: Server): number =>
  (server.address() as AddressInfo).port;
