import { once } from 'node:events';
import { connect } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createSmtpServer } from '../../../tools/simulator/mail/smtp-server.ts';

const LOGIN = { user: 'exchange', password: 'secret' };

test('the simulated mail server outlives a sender that goes away in the middle of a message', async () => {
  const taken: string[] = [];
  const { promise: ended, resolve: onClose } = Promise.withResolvers<unknown>();
  const server = createSmtpServer(LOGIN, ({ to }) => void taken.push(to), {
    disabledCommands: ['STARTTLS'],
    onClose,
  });
  server.listen(0, '127.0.0.1');
  await once(server.server, 'listening');
  const { port } = server.server.address() as { port: number };
  const unhandled: unknown[] = [];
  const note = (reason: unknown) => void unhandled.push(reason);
  process.on('unhandledRejection', note);

  const socket = connect(port, '127.0.0.1').setEncoding('utf8');
  const login = Buffer.from(`\0${LOGIN.user}\0${LOGIN.password}`);
  for (const line of [
    'EHLO sender.example',
    `AUTH PLAIN ${login.toString('base64')}`,
    'MAIL FROM:<a@sender.example>',
    'RCPT TO:<b@receiver.example>',
    'DATA',
  ]) {
    await once(socket, 'data');
    socket.write(`${line}\r\n`);
  }
  const [go] = await once(socket, 'data');
  expect(go).toMatch(/^354/);
  socket.write('Subject: half of a mess');
  socket.destroy();
  await ended;
  await setImmediate();

  process.off('unhandledRejection', note);
  await new Promise<void>((done) => server.close(done));
  expect(unhandled).toEqual([]);
  expect(taken).toEqual([]);
});
