import { execFile } from 'node:child_process';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { sql } from 'kysely';
import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { createIntake } from '../../src/exchange/messaging/notifications/intake.ts';
import { createMllpAnswer } from '../../src/exchange/messaging/notifications/mllp/answer.ts';
import { createMllpListener } from '../../src/exchange/messaging/notifications/mllp/open-mllp.ts';
import { newPerson } from '../support/gateway.ts';
import {
  buildJava,
  classPathOf,
  javaMissing,
} from '../support/java-project.ts';
import { createSenderEnvironment } from '../support/senders.ts';
import { makeTestFolder } from '../support/test-folder.ts';
import { TEST_ID_HMAC_KEY } from '../support/test-keys.ts';

const PROJECT = fileURLToPath(new URL('hapi-v2', import.meta.url));
const CACHE = fileURLToPath(
  new URL('../../.cache/hapi-v2-2.5.1', import.meta.url),
);
const missing = javaMissing(CACHE);
if (missing !== undefined)
  process.stdout.write(
    `HAPI's HL7 v2 library is not tested against: ${missing}.\n`,
  );

test.skipIf(missing !== undefined)(
  'a result that HAPI’s HL7 v2 library sends twice is in the record once, with every sign of its text',
  { timeout: 300_000 },
  async () => {
    const environment = await createSenderEnvironment();
    onTestFinished(() => environment.gateway.close());
    const { store, blobs } = environment.gateway;
    const person = newPerson();
    const patientId = await environment.addPatient(person);
    const logger = pino({ level: 'silent' });
    const listener = createMllpListener({
      answer: createMllpAnswer({
        intake: createIntake({
          store,
          blobs,
          logger,
          idHmacKey: TEST_ID_HMAC_KEY,
          recordings: environment.recordings,
          followUps: { launch: () => undefined, wake: () => undefined },
        }),
        senders: [
          { name: 'acme', secret: 'secret-of-the-acme-lab', timeZone: 'UTC' },
        ],
        identities: [{ sender: 'acme', application: 'LAB', facility: 'ACME' }],
        logger,
      }),
      limits: {
        messageBytes: 100_000,
        idleMs: 60_000,
        connections: 5,
        connectionsOfAddress: 5,
        firstMessageMs: 60_000,
        frameMs: 60_000,
      },
      logger,
    });
    onTestFinished(() => listener.close());
    listener.server.listen(0, '127.0.0.1');
    await once(listener.server, 'listening');
    const { port } = listener.server.address() as AddressInfo;

    const texts = [
      'a|b^c&d~e\\f – é 日本',
      'second \\T\\ |',
      'note ~ & ^ | \\ end',
    ];
    buildJava({ project: PROJECT, mainClass: 'HapiSender', cache: CACHE });
    const args = [
      '-cp',
      classPathOf(CACHE),
      'HapiSender',
      String(port),
      person.lastName,
      ...texts,
    ];
    const { stdout } = await promisify(execFile)('java', args, {
      // HAPI writes a file of ids into its working folder.
      cwd: await makeTestFolder(),
      // Java reads its arguments in the character set of the locale.
      env: { ...process.env, LC_ALL: 'C.UTF-8' },
    });
    expect(stdout.match(/^ACK .*$/gm)).toEqual([
      'ACK AA of-hapi-1',
      'ACK AA of-hapi-1',
    ]);
    await environment.recordings.drain();

    const [value, second, note] = texts;
    expect(await environment.resources('Observation', patientId)).toMatchObject(
      [{ valueString: `${value}\n${second}`, note: [{ text: note }] }],
    );
    const { rows } = await store.asSystem((tx) =>
      sql`select from inbound_message`.execute(tx.db),
    );
    expect(rows).toHaveLength(1);
  },
);
