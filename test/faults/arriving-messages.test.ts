import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { pipeline } from 'node:stream/promises';
import { expect } from 'vitest';
import { writeMail } from '#direct';
import {
  buildDiscoveryAcknowledgement,
  DISCOVERY_ACTIONS,
  type Envelope,
  newMessageId,
  plainMessage,
  readEnvelope,
  readPatientDiscoveryResponse,
  writeEnvelope,
} from '#ihe';
import {
  mailboxSettingsSchema,
  sealMailboxCredentials,
} from '../../src/exchange/messaging/messages/direct/mailbox-settings.ts';
import { putMailbox } from '../../src/exchange/messaging/messages/direct/mailbox-store.ts';
import { parseKeyRing } from '../../src/lib/key-ring.ts';
import {
  type MailSystem,
  startMailSystem,
} from '../../tools/simulator/mail/mail-system.ts';
import { newPerson } from '../support/gateway.ts';
import { MAIL_LOGIN } from '../support/mail-system.ts';
import {
  criteriaFor,
  discoveryOf,
  OUR_HOME,
  THEIR_HOME,
} from '../support/network-members.ts';
import { callGateway, type TestStack } from '../support/stack.ts';
import { xdmFile } from '../support/xdm.ts';
import { FAULT_TEST } from './fault-stack.ts';
import {
  addPatient,
  eventsOf,
  killWorkers,
  type Site,
  test,
} from './network-site.ts';

const ARRIVING = 12;
const LEAVING = 6;
const BYTES = 400_000;
/** A kill comes when the mail server has taken so many of our mails. */
const KILLS_AT = [3, 10];

const CLINIC = 'direct.clinic.example';
const ADDRESS = 'records@direct.killed.example';
const WAIT = { timeout: 600_000, interval: 200 };

const sha256 = (bytes: Uint8Array) =>
  createHash('sha256').update(bytes).digest('hex');

test(
  'Direct messages and notifications that are read while the workers are killed are each there once, and their senders are told',
  FAULT_TEST,
  async ({ stack, site }) => {
    const { account } = site;
    const patientId = await addPatient(stack, account, newPerson());
    const mails = await startMailSystem({ login: MAIL_LOGIN, delayMs: 50 });
    const contents = Array.from({ length: ARRIVING }, () => randomBytes(BYTES));
    for (const [at, content] of contents.entries())
      mails.inbox.deliver(await letterOf(at, content));
    await giveMailbox(stack, site, mails);
    const sent: string[] = [];
    for (let at = 0; at < LEAVING; at += 1) {
      const answer = await callGateway(
        stack.connection,
        account,
        'POST',
        `message?patientId=${patientId}`,
        {
          body: {
            destination: `dr.jones@${CLINIC}`,
            subject: `Referral ${at}`,
            body: 'Please see.',
          },
        },
      );
      sent.push(answer.body.id);
    }

    for (const taken of KILLS_AT) {
      await expect
        .poll(() => mails.taken.length, { ...WAIT, interval: 5 })
        .toBeGreaterThanOrEqual(taken);
      await killWorkers(stack);
    }
    const inboundHashes = async () => {
      const rows = await stack.rows<{ sha256: string }>(
        `select encode(document.sha256, 'hex') as sha256 from message
           join document on document.message_id = message.id
         where message.account_id = $1 and direction = 'inbound'`,
        [account.accountId],
      );
      return rows.map((row) => row.sha256).sort();
    };
    await expect.poll(inboundHashes, WAIT).toEqual(contents.map(sha256).sort());
    const completed = () =>
      stack.rows(
        `select id from message where id = any($1) and status = 'completed'`,
        [sent],
      );
    await expect
      .poll(async () => (await completed()).length, WAIT)
      .toBe(LEAVING);
    const notified = () =>
      mails.taken.flatMap(({ mail }) =>
        mail?.report?.kind === 'mdn' && mail.report.disposition === 'processed'
          ? [mail.report.about]
          : [],
      );
    await expect.poll(() => new Set(notified()).size, WAIT).toBe(ARRIVING);

    const messages = await stack.rows(
      `select id from message where account_id = $1 and direction = 'inbound'`,
      [account.accountId],
    );
    expect(messages).toHaveLength(ARRIVING);
    expect(await eventsOf(stack, account, 'message.received')).toHaveLength(
      ARRIVING,
    );
    expect(await eventsOf(stack, account, 'message.status')).toHaveLength(
      LEAVING,
    );
    // What a dead worker had handed over, comes again under the same id.
    const letters = mails.taken.filter(
      ({ mail }) => mail?.report === undefined,
    );
    const ids = new Set(letters.map(({ mail }) => mail?.messageId));
    expect(ids.size).toBe(LEAVING);
    await mails.close();
  },
);

/** Every other message has its file in a package (XDM). */
async function letterOf(at: number, content: Buffer): Promise<Buffer> {
  const file = {
    fileName: 'summary.bin',
    contentType: 'application/octet-stream',
    content,
  };
  return writeMail({
    messageId: `letter-${at}@${CLINIC}`,
    from: `dr.smith@${CLINIC}`,
    to: [ADDRESS],
    sentAt: new Date(),
    subject: `Discharge ${at}`,
    text: 'Please read.',
    attachments: [
      at % 2 === 0 ? file : await xdmFile([{ name: 'DOC00001.BIN', content }]),
    ],
  });
}

async function giveMailbox(
  stack: TestStack,
  { account: { accountId }, store }: Site,
  { smtpPort, imapPort }: MailSystem,
): Promise<void> {
  await stack.rows(
    `update account set settings = settings ||
       jsonb_build_object('messages', jsonb_build_object('directAddresses', jsonb_build_array($2::text)))
     where id = $1`,
    [accountId, ADDRESS],
  );
  await store.asSystem((tx) =>
    putMailbox(tx, {
      accountId,
      settings: mailboxSettingsSchema.parse({
        address: ADDRESS,
        smtp: `smtp://127.0.0.1:${smtpPort}`,
        imap: `imap://127.0.0.1:${imapPort}`,
        readEverySeconds: 2,
      }),
      credentials: sealMailboxCredentials(
        parseKeyRing(stack.secrets.dataKeys),
        accountId,
        MAIL_LOGIN,
      ),
    }),
  );
}

test(
  'a deferred question is answered, and then forgotten, when the workers are killed before the answer and in it',
  FAULT_TEST,
  async ({ stack, site }) => {
    const { account, asker, member } = site;
    const person = newPerson();
    const patientId = await addPatient(stack, account, person);
    await contribute(stack, site, patientId);
    const answers: Envelope[] = [];
    // Kills once in the answer: it has come, and is not acknowledged.
    let killing: Promise<void> | undefined;
    const receiver = createServer(
      {
        cert: member.certificate,
        key: member.privateKey,
        ca: member.authority,
        requestCert: true,
      },
      async (request, response) => {
        const envelope = await readEnvelope(
          request,
          request.headers['content-type'],
        );
        answers.push(envelope);
        if (killing === undefined) {
          killing = killWorkers(stack);
          await killing;
          response.destroy();
          return;
        }
        const message = acknowledgementOf(envelope);
        response.setHeader('content-type', message.contentType);
        await pipeline(message.body, response);
      },
    ).listen(0, '127.0.0.1');
    await once(receiver, 'listening');
    const { port } = receiver.address() as AddressInfo;

    const acknowledged = await asker.send(
      DISCOVERY_ACTIONS.deferredQuestion,
      discoveryOf(criteriaFor(person), {
        respondTo: `https://localhost:${port}/answers`,
      }),
    );
    await killWorkers(stack);
    expect(acknowledged.payload?.name).toBe('MCCI_IN000002UV01');

    const question = async () => {
      const [row] = await stack.rows<{ outcome: string; question: unknown }>(
        'select outcome, question from deferred_question where account_id = $1',
        [account.accountId],
      );
      return row;
    };
    await expect
      .poll(question, WAIT)
      .toEqual({ outcome: 'delivered', question: null });
    expect(answers.length).toBeGreaterThanOrEqual(2);

    for (const answer of answers) {
      expect(answer).toMatchObject({
        action: DISCOVERY_ACTIONS.deferredAnswer,
        relatesTo: acknowledged.relatesTo,
      });
      const { outcome, patients } = readPatientDiscoveryResponse(
        answer.payload as NonNullable<Envelope['payload']>,
      );
      expect(outcome).toBe('found');
      expect(patients).toHaveLength(1);
    }
    await killing;
    receiver.closeAllConnections();
    receiver.close();
  },
);

async function contribute(
  stack: TestStack,
  { account }: Site,
  patientId: string,
): Promise<void> {
  const resource = {
    resourceType: 'Condition',
    id: '1',
    code: { text: 'Gout' },
  };
  const put = await callGateway(
    stack.connection,
    account,
    'PUT',
    `patient/${patientId}/consolidated`,
    {
      body: {
        resourceType: 'Bundle',
        type: 'collection',
        entry: [{ resource }],
      },
    },
  );
  expect(put.status).toBe(200);
}

function acknowledgementOf({ messageId = '' }: Envelope) {
  const action = DISCOVERY_ACTIONS.acknowledgement;
  const head = {
    messageId: { root: '2.999.2.1', extension: '1' },
    sentAt: new Date(),
    processing: 'P' as const,
    sender: { deviceId: THEIR_HOME },
    receiver: { deviceId: OUR_HOME },
  };
  return plainMessage(
    writeEnvelope({
      action,
      messageId: newMessageId(),
      relatesTo: messageId,
      body: buildDiscoveryAcknowledgement(head, { messageId: undefined }),
    }),
    action,
  );
}
