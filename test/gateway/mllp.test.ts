import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect as connectTls } from 'node:tls';
import { Hl7Message } from '@medplum/core';
import { Hl7Client, Hl7Connection } from '@medplum/hl7';
import { sql } from 'kysely';
import { pino } from 'pino';
import {
  afterAll,
  afterEach,
  beforeAll,
  describe,
  expect,
  onTestFinished,
  test,
} from 'vitest';
import {
  createIntake,
  type Intake,
} from '../../src/exchange/messaging/notifications/intake.ts';
import { createMllpAnswer } from '../../src/exchange/messaging/notifications/mllp/answer.ts';
import { framed } from '../../src/exchange/messaging/notifications/mllp/frames.ts';
import {
  createMllpListener,
  type MllpListener,
  openMllp,
} from '../../src/exchange/messaging/notifications/mllp/open-mllp.ts';
import { createAuthority } from '../support/authority.ts';
import { closedGate } from '../support/gate.ts';
import {
  createTestGateway,
  newPerson,
  type TestGateway,
} from '../support/gateway.ts';
import { TEST_ID_HMAC_KEY } from '../support/test-keys.ts';

const SENDERS = ['mercy', 'general'].map((name) => ({
  name,
  secret: `secret-of-${name}`,
  timeZone: 'UTC',
}));
const LIMITS = {
  messageBytes: 10_000,
  idleMs: 60_000,
  connections: 10,
  connectionsOfAddress: 3,
};
const PATIENT = { firstMessageMs: 60_000, frameMs: 60_000 };
const NO_FOLLOW_UPS = { launch: () => undefined, wake: () => undefined };
const NO_RECORDINGS = { launch: () => undefined };

let gateway: TestGateway;
let authority: Awaited<ReturnType<typeof createAuthority>>;
beforeAll(async () => {
  gateway = await createTestGateway();
  authority = await createAuthority();
});
afterAll(async () => {
  await gateway.close();
  await authority.remove();
});

const listeners: MllpListener[] = [];
const sockets: Socket[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await Promise.all(listeners.splice(0).map((listener) => listener.close()));
});

async function listen(
  options: {
    limits?: object;
    tls?: { cert: string; key: string; clientAuthorities?: string };
  } = {},
  accept?: (usual: Intake) => Intake['accept'],
): Promise<{ port: number; listener: MllpListener }> {
  const logger = pino({ level: 'silent' });
  const { store, blobs } = gateway;
  const usual = createIntake({
    store,
    blobs,
    logger,
    idHmacKey: TEST_ID_HMAC_KEY,
    followUps: NO_FOLLOW_UPS,
    recordings: NO_RECORDINGS,
  });
  const listener = createMllpListener({
    answer: createMllpAnswer({
      intake: accept === undefined ? usual : { accept: accept(usual) },
      senders: SENDERS,
      identities: [
        { sender: 'mercy', application: 'ADT', facility: 'MERCY' },
        { sender: 'general', certificate: 'feed.general.example.org' },
      ],
      logger,
    }),
    tls: options.tls,
    limits: { ...LIMITS, ...PATIENT, ...options.limits },
    logger,
  });
  listeners.push(listener);
  listener.server.listen(0, '127.0.0.1');
  await once(listener.server, 'listening');
  return { listener, port: (listener.server.address() as AddressInfo).port };
}

let count = 0;
function adt({
  event = 'A01',
  facility = 'MERCY',
  visit = 'V1',
  id = `mllp-${++count}`,
} = {}): string {
  const person = newPerson();
  const now = `${new Date().toISOString().slice(0, 19).replaceAll(/\D/g, '')}+0000`;
  return [
    `MSH|^~\\&|ADT|${facility}|HUB|X|${now}||ADT^${event}|${id}|P|2.5.1`,
    `EVN||${now}`,
    `PID|||R1^^^MERCY^MR||${person.lastName}^${person.firstName}||19800405`,
    `PV1||I|W1||||||||||||||||${visit}`,
  ].join('\r');
}
const messages = async (): Promise<number> =>
  (
    await gateway.store.asSystem((tx) =>
      sql`select from inbound_message`.execute(tx.db),
    )
  ).rows.length;
const codeOf = (ack: Hl7Message) =>
  [ack.getSegment('MSA')?.getField(1), ack.getSegment('MSA')?.getField(2)].join(
    ' ',
  );

/**
 * A plain connection, and the acknowledgement codes and control ids that arrive
 * on it.
 */
async function open(port: number) {
  const socket = connect(port, '127.0.0.1');
  sockets.push(socket);
  let received = '';
  socket.setEncoding('utf8').on('data', (text) => {
    received += text;
  });
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  const closed = new Promise<void>((resolve) =>
    socket.once('close', () => resolve()),
  );
  const answers = () =>
    [...received.matchAll(/MSA\|(\w\w)\|([^\r|]*)/g)].map(
      ([, code, id]) => `${code} ${id}`,
    );
  return {
    socket,
    closed,
    answers,
    async answered(number: number): Promise<string[]> {
      while (answers().length < number) await once(socket, 'data');
      return answers();
    },
  };
}

describe('the MLLP listener', () => {
  test('answers a sender that we did not write: AA, AE, AR, and a repetition like the first time', async () => {
    const { port } = await listen();
    const client = new Hl7Client({ host: '127.0.0.1', port, keepAlive: true });
    const send = async (text: string) =>
      codeOf(await client.sendAndWait(Hl7Message.parse(text)));
    const first = adt({ id: 'first' });
    const stored = await messages();
    expect(await send(first)).toBe('AA first');
    expect(await messages()).toBe(stored + 1);
    expect(await send(first)).toBe('AA first');
    expect(await messages()).toBe(stored + 1);
    expect(await send(adt({ id: 'lacking', visit: '' }))).toBe('AE lacking');
    expect(await send(adt({ id: 'other', event: 'A99' }))).toBe('AR other');
    expect(await send(adt({ id: 'stranger', facility: 'ELSEWHERE' }))).toBe(
      'AR stranger',
    );
    expect(await messages()).toBe(stored + 1);
    await client.close();
  });

  test('answers many messages of one connection in their order, however their frames are cut', async () => {
    const { port } = await listen();
    const { socket, answered } = await open(port);
    const ids = ['one', 'two', 'three', 'four'];
    const bytes = Buffer.concat(
      ids.map((id) => framed(adt({ id, visit: id }))),
    );
    for (let at = 0; at < bytes.length; at += 97) {
      socket.write(bytes.subarray(at, at + 97));
      if (at % 3 === 0) await new Promise(setImmediate);
    }
    expect(await answered(4)).toEqual(ids.map((id) => `AA ${id}`));
  });

  test('skips what stands between frames, and answers as MSH-15 and MSH-16 ask', async () => {
    const { port } = await listen();
    const { socket, answered } = await open(port);
    const asking = (id: string, asked: string) =>
      framed(adt({ id, visit: id }).replace('|P|2.5.1', `|P|2.5.1${asked}`));
    socket.write('\0ping\r\n');
    socket.write(asking('never', '|||NE|NE'));
    socket.write(asking('both', '|||AL|AL'));
    socket.write('\0');
    socket.write(asking('accept', '|||AL|NE'));
    expect(await answered(3)).toEqual(['CA both', 'AA both', 'CA accept']);
  });

  test('answers only after the commit; what is cut off before the answer is sent again and stored once', async () => {
    const isWorking = closedGate();
    const mayCommit = closedGate();
    const { port } = await listen({}, (usual) => async (...message) => {
      isWorking.open();
      await mayCommit.passed;
      await usual.accept(...message);
    });
    const first = await open(port);
    const stored = await messages();
    const message = framed(adt({ id: 'cut' }));
    first.socket.write(message);
    await isWorking.passed;
    expect(first.answers()).toEqual([]);
    first.socket.destroy();
    mayCommit.open();
    const second = await open(port);
    second.socket.write(message);
    expect(await second.answered(1)).toEqual(['AA cut']);
    expect(await messages()).toBe(stored + 1);
  });

  test('says AE when the message could not be stored, and takes it when it is sent again', async () => {
    let failures = 1;
    const { port } = await listen({}, (usual) => async (...message) => {
      if (failures-- > 0) throw new Error('the database does not answer');
      await usual.accept(...message);
    });
    const { socket, answered } = await open(port);
    const message = framed(adt({ id: 'again' }));
    socket.write(message);
    expect(await answered(1)).toEqual(['AE again']);
    socket.write(message);
    expect(await answered(2)).toEqual(['AE again', 'AA again']);
  });

  test('stores nothing of half a frame, and closes what is too long, silent, or no HL7', async () => {
    const { port } = await listen({ limits: { idleMs: 300 } });
    const stored = await messages();
    for (const bytes of [
      framed(adt()).subarray(0, -1),
      framed('x'.repeat(LIMITS.messageBytes + 1)),
      framed('this is not HL7'),
      Buffer.from('GET / HTTP/1.1\r\n\r\n'),
      Buffer.from('x'.repeat(2_000)),
    ]) {
      const { socket, closed, answers } = await open(port);
      socket.write(bytes);
      await closed;
      expect(answers()).toEqual([]);
    }
    expect(await messages()).toBe(stored);
  });

  test('has a bound for the connections of one address', async () => {
    const { port } = await listen();
    for (const id of ['one', 'two', 'three']) {
      const kept = await open(port);
      kept.socket.write(framed(adt({ id })));
      expect(await kept.answered(1)).toEqual([`AA ${id}`]);
    }
    await (await open(port)).closed;
  });

  test('gives the place of the longest silent stranger to who comes, and never that of a sender', async () => {
    const { port } = await listen({
      limits: { connections: 3, connectionsOfAddress: 3 },
    });
    const sender = await open(port);
    sender.socket.write(framed(adt({ id: 'genuine' })));
    expect(await sender.answered(1)).toEqual(['AA genuine']);
    const silent = [await open(port), await open(port)];
    const next = await open(port);
    const another = await open(port);
    await Promise.all(silent.map(({ closed }) => closed));
    next.socket.write(framed(adt({ id: 'next' })));
    expect(await next.answered(1)).toEqual(['AA next']);
    another.socket.write(framed(adt({ id: 'another' })));
    expect(await another.answered(1)).toEqual(['AA another']);
    // Every place is a sender's now.
    await (await open(port)).closed;
    sender.socket.write(framed(adt({ id: 'still' })));
    expect(await sender.answered(2)).toEqual(['AA genuine', 'AA still']);
  });

  test('closes a stranger that sends no message, and anyone whose message does not end', async () => {
    const { port } = await listen({
      limits: {
        firstMessageMs: 1_000,
        frameMs: 1_000,
        connectionsOfAddress: 9,
      },
    });
    await (await open(port)).closed;
    const slow = await open(port);
    slow.socket.write(Buffer.from([0x0b]));
    const drip = setInterval(() => slow.socket.write('M'), 50);
    await slow.closed;
    clearInterval(drip);
    const sender = await open(port);
    sender.socket.write(framed(adt({ id: 'first' })));
    expect(await sender.answered(1)).toEqual(['AA first']);
    // The address is known now: an engine may connect long before it has
    // something to send.
    const waiting = await open(port);
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    waiting.socket.write(framed(adt({ id: 'later' })));
    expect(await waiting.answered(1)).toEqual(['AA later']);
    waiting.socket.write(framed(adt()).subarray(0, 30));
    await waiting.closed;
  });

  test('lets a sender in although silent connections have taken every place before their handshake', async () => {
    const server = await authority.issue('DNS:localhost');
    const { port } = await listen({
      tls: { ...server, clientAuthorities: authority.cert },
      limits: { connections: 3, connectionsOfAddress: 3 },
    });
    for (let count = 0; count < 6; count += 1) await open(port);
    const identity = await authority.issue('DNS:feed.general.example.org');
    const socket = connectTls({
      port,
      host: '127.0.0.1',
      servername: 'localhost',
      ca: authority.cert,
      ...identity,
    });
    sockets.push(socket);
    await once(socket, 'secureConnect');
    const message = Hl7Message.parse(adt({ id: 'let-in', facility: 'ANY' }));
    expect(codeOf(await new Hl7Connection(socket).sendAndWait(message))).toBe(
      'AA let-in',
    );
  });

  test('finishes the message it is working on when the process ends', async () => {
    const isWorking = closedGate();
    const mayCommit = closedGate();
    const { port, listener } = await listen(
      {},
      (usual) =>
        async (...message) => {
          isWorking.open();
          await mayCommit.passed;
          await usual.accept(...message);
        },
    );
    const busy = await open(port);
    const idle = await open(port);
    busy.socket.write(framed(adt({ id: 'last' })));
    await isWorking.passed;
    const closed = listener.close();
    await idle.closed;
    mayCommit.open();
    await closed;
    await busy.closed;
    expect(busy.answers()).toEqual(['AA last']);
  });

  test('takes its certificate from the folder of MLLP_TLS, and says what is missing there', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'mllp-tls-'));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    const { store, blobs } = gateway;
    const opened = () =>
      openMllp(
        {
          LISTEN_HOST: '127.0.0.1',
          MLLP_PORT: 0,
          MLLP_TLS: folder,
          NOTIFICATION_SENDERS: SENDERS,
          MLLP_SENDERS: [
            { sender: 'general', certificate: 'feed.general.example.org' },
          ],
        },
        {
          store,
          blobs,
          logger: pino({ level: 'silent' }),
          idHmacKey: TEST_ID_HMAC_KEY,
          followUps: NO_FOLLOW_UPS,
          recordings: NO_RECORDINGS,
        },
      );
    await expect(opened()).rejects.toThrow(
      `MLLP_TLS: tls.crt and tls.key cannot both be read in ${folder}`,
    );
    const server = await authority.issue('DNS:localhost');
    await writeFile(join(folder, 'tls.crt'), server.cert);
    await writeFile(join(folder, 'tls.key'), server.key);
    await expect(opened()).rejects.toThrow('ca.crt in the folder MLLP_TLS');
    await writeFile(join(folder, 'ca.crt'), authority.cert);
    const listener = await opened();
    if (listener === undefined)
      throw new Error('MLLP_PORT is set, but nothing listens');
    listeners.push(listener);
    const { port } = listener.server.address() as AddressInfo;
    const general = await authority.issue('DNS:feed.general.example.org');
    const socket = connectTls({
      port,
      host: '127.0.0.1',
      servername: 'localhost',
      ca: authority.cert,
      ...general,
    });
    sockets.push(socket);
    await once(socket, 'secureConnect');
    const message = Hl7Message.parse(adt({ id: 'by-folder', facility: 'ANY' }));
    expect(codeOf(await new Hl7Connection(socket).sendAndWait(message))).toBe(
      'AA by-folder',
    );
  });

  test('recognises a sender by its client certificate, and lets in no one without', async () => {
    const server = await authority.issue('DNS:localhost');
    const { port } = await listen({
      tls: { ...server, clientAuthorities: authority.cert },
    });
    const connectAs = (identity: object) => {
      const socket = connectTls({
        port,
        host: '127.0.0.1',
        servername: 'localhost',
        ca: authority.cert,
        ...identity,
      });
      sockets.push(socket);
      return socket;
    };
    const send = async (identity: object, message: string) => {
      const socket = connectAs(identity);
      await once(socket, 'secureConnect');
      return codeOf(
        await new Hl7Connection(socket).sendAndWait(Hl7Message.parse(message)),
      );
    };
    const general = await authority.issue('DNS:feed.general.example.org');
    expect(
      await send(general, adt({ id: 'by-certificate', facility: 'ANY' })),
    ).toBe('AA by-certificate');
    const unknown = await authority.issue('DNS:unknown.example.org');
    expect(await send(unknown, adt({ id: 'unknown', facility: 'ANY' }))).toBe(
      'AR unknown',
    );
    const without = connectAs({});
    const [error] = await once(
      without.on('secureConnect', () => without.write(framed(adt()))),
      'error',
    );
    expect(String(error)).toMatch(/certificate|handshake|reset/i);
  });
});
