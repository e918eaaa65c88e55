import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createMailboxReader } from '../../src/exchange/messaging/messages/direct/read-account-mailbox.ts';
import {
  DOCUMENT_TROUBLE_NAMES,
  type DocumentTrouble,
} from '../../src/local-stack/simulator/letters.ts';
import { SIMULATED_GATEWAY } from '../../src/local-stack/simulator/protocol.ts';
import { submitMessage } from '../../tools/simulator/ihe/submit-message.ts';
import {
  type MailSystem,
  startMailSystem,
} from '../../tools/simulator/mail/mail-system.ts';
import { writeLetter } from '../../tools/simulator/mail/write-letter.ts';
import {
  createTestGateway,
  newPerson,
  type TestAccount,
  type TestGateway,
} from '../support/gateway.ts';
import {
  directTrust,
  giveMailbox,
  MAIL_LOGIN,
} from '../support/mail-system.ts';
import {
  joinNetwork,
  makeNetworkOf,
  openTestRespondingGateway,
} from '../support/network-members.ts';
import { TEST_ID_HMAC_KEY, testKeyRing } from '../support/test-keys.ts';

// Two hands wrote what simulates a provider and what takes its messages: do
// they understand each other, also where something is wrong on purpose?

const RECEIVES = 'inbox@direct.ours.example';

let gateway: TestGateway;
let account: TestAccount;
let mails: MailSystem;
let port: Awaited<ReturnType<typeof openTestRespondingGateway>>;
let submit: (message: SimulatedMessage) => ReturnType<typeof submitMessage>;
let patientId: string;
let facilityOid: string;

beforeAll(async () => {
  gateway = await createTestGateway();
  account = await gateway.addAccount({
    settings: { messages: { directAddresses: [RECEIVES] } },
  });
  mails = await startMailSystem({ login: MAIL_LOGIN });
  await giveMailbox(gateway.store, account.accountId, mails);
  const { authority, members } = await makeNetworkOf('ours', 'theirs');
  const membership = await joinNetwork(gateway, account.accountId, authority, {
    communities: [{ homeCommunity: SIMULATED_GATEWAY.homeCommunity }],
  });
  port = await openTestRespondingGateway(gateway, members.ours);
  const facility = await account.call('GET', `facility/${account.facilityId}`);
  facilityOid = facility.json().oid;
  submit = (message) =>
    submitMessage({
      ...message,
      network: {
        address: port.addressOf(membership),
        certificate: members.theirs.certificate,
        privateKey: members.theirs.privateKey,
        authority,
      },
      to: facilityOid,
    });
  const created = await account.call(
    'POST',
    `patient?facilityId=${account.facilityId}`,
    person,
  );
  patientId = created.json().id;
});
afterAll(async () => {
  await port.close();
  await mails.close();
  await gateway.close();
});

const person = newPerson();
const [home] = person.address;

type SimulatedMessage = ReturnType<typeof messageWith>;

const messageWith = (trouble?: DocumentTrouble) => ({
  messageId: `${uuidv7()}@direct.simulated.example`,
  subject: 'Discharge',
  body: 'Please read.',
  patient: {
    givenName: person.firstName,
    surname: person.lastName,
    dateOfBirth: person.dob,
    gender: person.genderAtBirth,
    streetAddress: home?.addressLine1 ?? '',
    localityName: home?.city ?? '',
    stateOrProvinceName: home?.state ?? '',
    postalCode: home?.zip ?? '',
  },
  attachments: [
    {
      fileName: 'summary.xml',
      contentType: 'application/xml',
      content: Buffer.from('<ClinicalDocument/>').toString('base64'),
    },
  ],
  trouble,
});

const received = async () =>
  (await account.call('GET', 'message?direction=inbound')).json().messages;

async function deliver(trouble?: DocumentTrouble) {
  mails.inbox.deliver(
    await writeLetter({
      ...messageWith(trouble),
      from: 'dr.jones@direct.simulated.example',
      to: RECEIVES,
      isPackage: true,
      times: 1,
    }),
  );
  return createMailboxReader({
    ...gateway,
    keyRing: testKeyRing(),
    directTrust: directTrust(gateway),
    idHmacKey: TEST_ID_HMAC_KEY,
    arrivals: { tell: () => undefined },
    messages: { receiptArrived: () => undefined },
  }).read(account.accountId);
}

describe('a message of a simulated provider', () => {
  test('by XDR arrives with its text and documents, about the sample patient', async () => {
    expect(await submit(messageWith())).toEqual({
      outcome: 'accepted',
      problems: [],
    });

    const [message] = await received();
    expect(message).toMatchObject({
      patientId,
      transportMethod: 'xdr',
      destination: facilityOid,
      subject: 'Discharge',
      attachments: [expect.any(String), expect.any(String)],
    });
  });

  test('in a package arrives by Direct, about the sample patient', async () => {
    expect(await deliver()).toMatchObject({ received: 1 });

    const [message] = await received();
    expect(message).toMatchObject({
      patientId,
      transportMethod: 'direct',
      subject: 'Discharge',
      attachments: [expect.any(String)],
    });
  });

  const CODES = {
    'wrong-hash': 'XDSNonIdenticalHash',
    'wrong-size': 'XDSNonIdenticalSize',
    'missing-document': 'XDSMissingDocument',
    'two-sets': 'XDSRepositoryMetadataError',
  } as const;

  test.each(Object.entries(CODES))(
    'with %s is refused by XDR, with IHE’s code and words',
    async (trouble, code) => {
      const before = (await received()).length;

      const said = await submit(messageWith(trouble as DocumentTrouble));

      expect(said.outcome).toBe('failed');
      expect(said.problems).toContainEqual({
        code,
        reason: expect.stringMatching(/\w/),
      });
      expect(await received()).toHaveLength(before);
    },
  );

  test.each(DOCUMENT_TROUBLE_NAMES)(
    'in a package with %s is refused by a notification',
    async (trouble) => {
      const before = (await received()).length;

      expect(await deliver(trouble)).toMatchObject({ returned: 1 });

      expect(mails.taken.at(-1)?.mail?.report).toMatchObject({
        disposition: 'failed',
      });
      expect(await received()).toHaveLength(before);
    },
  );
});
