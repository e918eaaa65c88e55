import { buffer } from 'node:stream/consumers';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';
import { type DirectMail, readMail } from '#direct';
import { behaviourOf } from './behaviours.ts';
import type { MailLogin } from './imap-server.ts';

/** A message that the server took, for each recipient one. */
export interface TakenMail {
  from: string;
  to: string;
  bytes: Buffer;
  /** Undefined for one that is encrypted. */
  mail: DirectMail | undefined;
}

type SmtpFault = Error & { responseCode: number };

const fault = (responseCode: number, text: string): SmtpFault =>
  Object.assign(new Error(text), { responseCode });

/**
 * The server by which the exchange hands over mail: it takes what comes under
 * the login, but for recipients who behave otherwise.
 */
export function createSmtpServer(
  login: MailLogin,
  take: (mail: TakenMail) => void,
  options: SMTPServerOptions = { disabledCommands: ['STARTTLS'] },
): SMTPServer {
  const greylisted = new Set<string>();

  return new SMTPServer({
    ...options,
    authOptional: false,
    onAuth: ({ username, password }, _session, done) =>
      username === login.user && password === login.password
        ? done(null, { user: username })
        : done(fault(535, '5.7.8 no such login')),

    onRcptTo({ address }, _session, done) {
      if (behaviourOf(address) === 'unknown')
        return done(fault(550, '5.1.1 no such recipient: Ada Lovelace'));
      if (behaviourOf(address) === 'greylisted' && !greylisted.has(address)) {
        greylisted.add(address);
        return done(fault(451, '4.7.1 greylisted, try again'));
      }
      return done();
    },

    async onData(stream, { envelope }, done) {
      const bytes = await buffer(stream).catch(() => undefined);
      // Its sender went away.
      if (bytes === undefined) return done(fault(451, '4.4.2 not received'));
      const recipients = envelope.rcptTo.map(({ address }) => address);
      if (recipients.some((each) => behaviourOf(each) === 'full'))
        return done(fault(552, '5.3.4 message too large'));
      const from = envelope.mailFrom === false ? '' : envelope.mailFrom.address;
      const mail = await readMail(bytes).catch(() => undefined);
      for (const to of recipients) take({ from, to, bytes, mail });
      return done();
    },
  });
}
