import { createHash } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  buildFindDocuments,
  buildRetrieve,
  CROSS_GATEWAY_ACTIONS,
  DISCOVERY_ACTIONS,
  newMessageId,
  type SamlStatement,
  type SecurityOptions,
  writeEnvelope,
  writeSecurity,
  type XmlFragment,
  xml,
} from '#ihe';
import { uniqueIdOf } from '../../src/exchange/delivery/responding-gateway/document-ids.ts';
import { updateMembership } from '../../src/exchange/delivery/responding-gateway/membership-store.ts';
import {
  deliveredIn,
  insertDocuments,
  upsertResources,
} from '../../src/exchange/records/deliveries/delivery-store.ts';
import {
  createTestGateway,
  newPerson,
  type TestAccount,
  type TestGateway,
} from '../support/gateway.ts';
import {
  criteriaFor,
  discoveryOf,
  joinNetwork,
  makeNetworkOf,
  type NetworkMember,
  OUR_HOME,
  openTestRespondingGateway,
  postRaw,
  type RawAnswer,
  STATEMENT,
  THEIR_HOME,
  TREATMENT,
} from '../support/network-members.ts';
import { withholdLabels } from '../support/withhold.ts';
import { consentBody } from './every-operation/cases/consents.ts';

/** In everything that nobody may be given here. */
const SECRET = 'zebra';

type Person = ReturnType<typeof newPerson>;

/** A patient with a letter, as who asks would name both. */
interface Target {
  person: Person;
  patientId: string;
  documentId: string;
}

let gateway: TestGateway;
let account: TestAccount;
let network: Awaited<
  ReturnType<typeof makeNetworkOf<'ours' | 'theirs' | 'third'>>
>;
let otherNetwork: Awaited<ReturnType<typeof makeNetworkOf<'stranger'>>>;
let unknownNetwork: Awaited<ReturnType<typeof makeNetworkOf<'nobody'>>>;
let port: Awaited<ReturnType<typeof openTestRespondingGateway>>;
let membership: string;
let target: Target;
let attempts = 0;

beforeAll(async () => {
  gateway = await createTestGateway();
  account = await gateway.addAccount();
  network = await makeNetworkOf('ours', 'theirs', 'third');
  otherNetwork = await makeNetworkOf('stranger');
  unknownNetwork = await makeNetworkOf('nobody');
  membership = await joinNetwork(gateway, account.accountId, network.authority);
  const other = await gateway.addAccount();
  await joinNetwork(gateway, other.accountId, otherNetwork.authority);
  port = await openTestRespondingGateway(gateway, network.members.ours);
  target = await newTarget(account, `${SECRET} of a patient who is shown`);
});
afterAll(async () => {
  await port.close();
  await gateway.close();
});

async function newTarget(
  { accountId, call, facilityId }: TestAccount,
  text: string,
  changes: object = {},
): Promise<Target> {
  const person = newPerson();
  const created = await call(
    'POST',
    `patient?facilityId=${facilityId}`,
    person,
  );
  const patientId: string = created.json().id;
  const resource = {
    resourceType: 'DocumentReference',
    id: createHash('sha1').update(text).digest('hex'),
    status: 'current',
    description: SECRET,
    type: { text: SECRET },
    content: [
      {
        attachment: {
          contentType: 'text/plain',
          data: Buffer.from(text).toString('base64'),
        },
      },
    ],
    ...changes,
  };
  const put = await call('PUT', `patient/${patientId}/consolidated`, {
    resourceType: 'Bundle',
    type: 'collection',
    entry: [{ resource }],
  });
  expect(put.statusCode, put.body).toBe(200);
  const { id: documentId } = await gateway.store.asAccount(accountId, (tx) =>
    tx.db
      .selectFrom('document')
      .select('id')
      .where('patient_id', '=', patientId)
      .where('kind', '=', 'attachment')
      .executeTakeFirstOrThrow(),
  );
  return { person, patientId, documentId };
}

interface Attempt {
  action: string;
  body: XmlFragment;
}

/** What would be given to who may ask: by each of the transactions. */
function asking(of: Target, home = OUR_HOME): Attempt[] {
  const uniqueId = uniqueIdOf(of.documentId);
  const query = (body: XmlFragment) => ({
    action: CROSS_GATEWAY_ACTIONS.query,
    body,
  });
  return [
    {
      action: DISCOVERY_ACTIONS.question,
      body: discoveryOf(criteriaFor(of.person)),
    },
    query(
      buildFindDocuments({
        patient: { id: of.patientId, authority: home },
        homeCommunity: home,
        includeOnDemand: true,
      }),
    ),
    {
      action: CROSS_GATEWAY_ACTIONS.retrieve,
      body: buildRetrieve([
        { uniqueId, repository: home, homeCommunity: home },
      ]),
    },
    query(getDocuments('$XDSDocumentEntryUniqueId', uniqueId, home)),
    query(
      getDocuments(
        '$XDSDocumentEntryEntryUUID',
        `urn:uuid:${of.documentId}`,
        home,
      ),
    ),
  ];
}

const getDocuments = (slot: string, value: string, home: string) => xml`
  <q:AdhocQueryRequest xmlns:q="urn:oasis:names:tc:ebxml-regrep:xsd:query:3.0" xmlns:r="urn:oasis:names:tc:ebxml-regrep:xsd:rim:3.0">
    <q:ResponseOption returnType="LeafClass" returnComposedObjects="true"/>
    <r:AdhocQuery id="urn:uuid:5c4f972b-d56b-40ac-a5fc-c8ca9b40b9d4" home="urn:oid:${home}">
      <r:Slot name="${slot}"><r:ValueList><r:Value>('${value}')</r:Value></r:ValueList></r:Slot>
    </r:AdhocQuery>
  </q:AdhocQueryRequest>
`;

interface Sending {
  member?: NetworkMember | undefined;
  statement?: Partial<SamlStatement>;
  security?: Partial<SecurityOptions>;
  messageId?: string;
  replyTo?: string;
  headers?: readonly XmlFragment[];
  address?: string;
  change?: (envelope: string) => string;
}

function written({ action, body }: Attempt, sending: Sending): string {
  const { member = network.members.theirs, change = (text) => text } = sending;
  return change(
    writeEnvelope({
      action,
      messageId: sending.messageId ?? newMessageId(),
      to: 'https://localhost/',
      ...(sending.replyTo === undefined ? {} : { replyTo: sending.replyTo }),
      headers: [
        writeSecurity(
          { ...STATEMENT, ...sending.statement },
          { credentials: member.credentials, ...sending.security },
        ),
        ...(sending.headers ?? []),
      ],
      body,
    }),
  );
}

const post = (envelope: string, sending: Sending = {}): Promise<RawAnswer> =>
  postRaw(sending.address ?? port.addressOf(membership), envelope, {
    trusted: network.authority,
    member: 'member' in sending ? sending.member : network.members.theirs,
  });

/** Sends what must give nothing, whatever it is answered. */
async function tried(
  envelope: string,
  sending: Sending = {},
): Promise<RawAnswer> {
  attempts += 1;
  const answered = await post(envelope, sending);
  for (const given of [
    SECRET,
    'registrationEvent',
    'ExtrinsicObject ',
    'Include',
  ])
    expect(answered.text).not.toContain(given);
  return answered;
}

const send = (attempt: Attempt, sending: Sending = {}) =>
  tried(written(attempt, sending), sending);

/** Sends all that could give something, and expects this fault each time. */
async function refused(
  sending: Sending,
  [code, subcode]: readonly [string, string?],
  status = 400,
): Promise<void> {
  for (const attempt of asking(target).slice(0, 3)) {
    const answered = await send(attempt, sending);
    expect([answered.status, answered.code, answered.subcode]).toEqual([
      status,
      code,
      subcode,
    ]);
  }
}

const HOUR = 3_600_000;
const FAILED_AUTHENTICATION = ['Sender', 'FailedAuthentication'] as const;
const FAILED_CHECK = ['Sender', 'FailedCheck'] as const;

test('who may ask is given all of it, so that a refusal is one', async () => {
  const texts: string[] = [];
  for (const attempt of asking(target))
    texts.push((await post(written(attempt, {}))).text);
  const shown = ['registrationEvent', SECRET, SECRET, SECRET, SECRET];
  for (const [at, text] of texts.entries()) expect(text).toContain(shown[at]);
});

test('a request without a security header, or with a part of it missing or changed', async () => {
  await refused(
    {
      change: (text) =>
        text.replace(/<wsse:Security[\s\S]*<\/wsse:Security>/, ''),
    },
    ['Sender', 'InvalidSecurity'],
  );
  await refused(
    {
      change: (text) =>
        text.replace(/<saml2:Assertion[\s\S]*<\/saml2:Assertion>/, ''),
    },
    ['Sender', 'InvalidSecurity'],
  );
  await refused(
    {
      change: (text) =>
        text.replace(/(<wsu:Timestamp[\s\S]*<\/wsu:Timestamp>)/, '$1$1'),
    },
    ['Sender', 'InvalidSecurity'],
  );
  // Another home community, or purpose, than was signed.
  for (const [from, to] of [
    [`urn:oid:${THEIR_HOME}<`, 'urn:oid:2.999.3<'],
    ['code="TREATMENT"', 'code="PAYMENT"'],
  ] as const)
    await refused({ change: (text) => text.replace(from, to) }, FAILED_CHECK);
  await refused(
    { change: (text) => text.replace(/Created>20\d\d/, 'Created>2099') },
    FAILED_CHECK,
  );
});

test('an assertion that has ended, or begins later', async () => {
  const expired = ['Sender', 'MessageExpired'] as const;
  await refused({ security: { now: new Date(Date.now() - HOUR) } }, expired);
  await refused({ security: { now: new Date(Date.now() + HOUR) } }, expired);
});

test('an assertion of another member, with our own TLS certificate', async () => {
  const { credentials } = network.members.third;
  await refused({ security: { credentials } }, FAILED_CHECK);
});

test('a signature with SHA-1, unless the membership takes it', async () => {
  await refused({ security: { sha1: true } }, [
    'Sender',
    'UnsupportedAlgorithm',
  ]);
});

test('a message that was here before, with the same or another body, id or signature', async () => {
  for (const attempt of asking(target).slice(0, 3)) {
    const messageId = newMessageId();
    const first = written(attempt, { messageId });
    expect(await post(first)).toMatchObject({ status: 200, code: undefined });
    const another = written(attempt, { messageId });
    const [, security = ''] =
      /(<wsse:Security[\s\S]*<\/wsse:Security>)/.exec(first) ?? [];
    const otherBody = written(asking(target)[1] ?? attempt, {}).replace(
      /<wsse:Security[\s\S]*<\/wsse:Security>/,
      () => security,
    );
    for (const envelope of [first, another, otherBody]) {
      const { code, subcode } = await tried(envelope);
      expect([code, subcode]).toEqual(FAILED_CHECK);
    }
  }
});

test('a home community that may not ask, that is missing, or of another certificate', async () => {
  await refused(
    { statement: { homeCommunityId: '2.999.3' } },
    FAILED_AUTHENTICATION,
  );
  await refused({ statement: { homeCommunityId: '' } }, FAILED_AUTHENTICATION);
  const question = {
    action: DISCOVERY_ACTIONS.question,
    body: discoveryOf(criteriaFor(target.person), {
      sender: { deviceId: '2.999.3', homeCommunity: '2.999.3' },
    }),
  };
  expect(await send(question)).toMatchObject({
    subcode: 'FailedAuthentication',
  });

  const strict = await joinNetwork(
    gateway,
    account.accountId,
    network.authority,
    {
      communities: [{ homeCommunity: THEIR_HOME, host: 'third.test' }],
    },
  );
  await refused({ address: port.addressOf(strict) }, FAILED_AUTHENTICATION);
});

test('a purpose that is not answered, or is missing', async () => {
  for (const code of ['PAYMENT', 'OPERATIONS', 'treatment', ''])
    await refused({ statement: { purpose: { ...TREATMENT, code } } }, [
      'Sender',
    ]);
  await refused(
    { statement: { purpose: { ...TREATMENT, codeSystem: '2.999.7' } } },
    ['Sender'],
  );
});

test('a certificate of another network, of no network, and none', async () => {
  await refused(
    { member: otherNetwork.members.stranger },
    FAILED_AUTHENTICATION,
  );
  for (const member of [unknownNetwork.members.nobody, undefined])
    for (const attempt of asking(target).slice(0, 3)) {
      const envelope = written(attempt, {});
      await expect(tried(envelope, { member })).rejects.toThrow();
    }
});

test('a membership that is paused, or not there', async () => {
  const paused = await joinNetwork(
    gateway,
    account.accountId,
    network.authority,
  );
  await gateway.store.asSystem((tx) =>
    updateMembership(tx, paused, { enabled: false }),
  );
  for (const id of [paused, uuidv7(), 'x'])
    for (const attempt of asking(target).slice(0, 3))
      expect(
        await send(attempt, { address: port.addressOf(id) }),
      ).toMatchObject({
        status: 404,
      });
});

test('what is no request of ours: version, action, headers, address of the answer', async () => {
  const soap11 = (text: string) =>
    text.replaceAll(
      'http://www.w3.org/2003/05/soap-envelope',
      'http://schemas.xmlsoap.org/soap/envelope/',
    );
  await refused({ change: soap11 }, ['VersionMismatch', undefined], 500);
  await refused(
    { headers: [xml`<x:Odd xmlns:x="urn:x" soap:mustUnderstand="1"/>`] },
    ['MustUnderstand', undefined],
    500,
  );
  await refused({ replyTo: 'https://elsewhere.test/' }, [
    'Sender',
    'InvalidAddressingHeader',
  ]);
  for (const { body } of asking(target).slice(0, 3))
    expect(
      await send({ action: 'urn:ihe:iti:2007:Other', body }),
    ).toMatchObject({
      status: 400,
      subcode: 'ActionNotSupported',
    });
});

test('what is no message, or too much of one', async () => {
  const deep = `${'<a>'.repeat(100)}${'</a>'.repeat(100)}`;
  const [first] = asking(target);
  if (first === undefined) throw new Error('nothing is asked');
  const whole = written(first, {});
  const bad = [
    '',
    'no xml',
    '<html><body/></html>',
    `<!DOCTYPE a [<!ENTITY b "c">]>${whole}`,
    whole.slice(0, whole.length / 2),
    whole.replace('<soap:Body>', `<soap:Body>${deep}`),
    whole.replace('<soap:Body>', `<soap:Body>${'<a/>'.repeat(20_000)}`),
    whole.replace(
      '<soap:Body>',
      `<soap:Body><!-- ${'x'.repeat(1_100_000)} -->`,
    ),
  ];
  for (const envelope of bad)
    expect(await tried(envelope)).toMatchObject({
      status: 400,
      code: 'Sender',
    });
});

test('a patient of another account, by no transaction', async () => {
  const other = await gateway.addAccount();
  await withNothingGiven(
    await newTarget(other, `${SECRET} of another account`),
  );
});

test('a patient who opted out, and one whose consent denies it', async () => {
  const optedOut = await newTarget(account, `${SECRET} of one who opted out`);
  await account.call(
    'PUT',
    `patient/${optedOut.patientId}/hie-opt-out?hieOptOut=true`,
  );
  await withNothingGiven(optedOut);

  const denied = await newTarget(account, `${SECRET} of one who denies`);
  const provision = { type: 'deny' };
  const consent = await account.call(
    'POST',
    `patient/${denied.patientId}/consent`,
    consentBody({ provision }),
  );
  expect(consent.statusCode, consent.body).toBe(201);
  await withNothingGiven(denied);
});

test('a document that carries a withheld label, or was removed', async () => {
  const meta = {
    security: [
      {
        system: 'http://terminology.hl7.org/CodeSystem/v3-Confidentiality',
        code: 'R',
      },
    ],
  };
  const labelled = await newTarget(account, `${SECRET} with a label`, { meta });
  await withholdLabels(gateway.store, account.accountId, ['R']);
  await withNothingGiven(labelled, { isShown: true });
  await withholdLabels(gateway.store, account.accountId, []);

  const removed = await newTarget(account, `${SECRET} that was removed`);
  const { contributions } = (
    await account.call('GET', `patient/${removed.patientId}/contribution`)
  ).json();
  for (const { id } of contributions)
    await account.call(
      'DELETE',
      `patient/${removed.patientId}/contribution/${id}`,
    );
  await withNothingGiven(removed);
});

test('what was retrieved from others, also of a patient of whom something was contributed', async () => {
  for (const source of ['hie', 'pharmacy', 'lab', 'message'] as const) {
    const known = await newTarget(account, `${SECRET} beside ${source}`);
    const documentId = uuidv7();
    const blob = await gateway.blobs.put(
      'document',
      Buffer.from(SECRET),
      'text/plain',
    );
    const common = {
      patientId: known.patientId,
      queryId: uuidv7(),
      source,
      sizeBytes: blob.sizeBytes,
      blobRef: blob.ref,
      sha256: createHash('sha256').update(source).digest(),
      contentType: 'text/plain',
    };
    const page = {
      ...common,
      id: uuidv7(),
      kind: 'page' as const,
      fileName: `${known.patientId}.json`,
    };
    await gateway.store.asAccount(account.accountId, async (tx) => {
      await insertDocuments(tx, [
        page,
        {
          ...common,
          id: documentId,
          kind: 'attachment',
          fileName: `${documentId}.txt`,
          sourceDocumentId: 'theirs',
        },
      ]);
      await upsertResources(
        tx,
        { patientId: known.patientId, source, documentId: page.id },
        [
          deliveredIn(page.fileName, {
            resourceType: 'DocumentReference',
            id: 'theirs',
          }),
        ],
      );
    });
    const theirs = { ...known, documentId };
    for (const attempt of asking(theirs).slice(2)) await expectNothing(attempt);
  }
});

test('ids that are guessed, misspelt, or of another community', async () => {
  for (const home of ['2.999.3', `${OUR_HOME}.1`])
    for (const attempt of asking(target, home).slice(1))
      await expectNothing(attempt);
  for (let at = 0; at < 10; at++) {
    const guessed = { ...target, patientId: uuidv7(), documentId: uuidv7() };
    for (const attempt of asking(guessed).slice(1))
      await expectNothing(attempt);
  }
  for (const id of [
    "' or ''='",
    '*',
    '%',
    '',
    '2.25.0',
    `2.25.${'9'.repeat(39)}`,
  ]) {
    await expectNothing({
      action: CROSS_GATEWAY_ACTIONS.query,
      body: buildFindDocuments({
        patient: { id, authority: OUR_HOME },
        homeCommunity: OUR_HOME,
      }),
    });
    await expectNothing({
      action: CROSS_GATEWAY_ACTIONS.retrieve,
      body: buildRetrieve([
        { uniqueId: id, repository: OUR_HOME, homeCommunity: OUR_HOME },
      ]),
    });
  }
});

test('a description that fits in part, or with an identifier of somebody else', async () => {
  const { person } = target;
  const changes = [
    { names: [] },
    { birthTimes: ['1980'] },
    { birthTimes: ['19800405', '19800406'] },
    { birthTimes: ['19810405'] },
    { genders: [] },
    { genders: ['M'] },
    { addresses: [] },
    {
      names: [
        { family: [person.lastName], given: ['Other'], prefix: [], suffix: [] },
      ],
    },
    {
      names: [
        { family: ['%'], given: [person.firstName], prefix: [], suffix: [] },
      ],
    },
  ];
  for (const change of changes)
    await expectNothing({
      action: DISCOVERY_ACTIONS.question,
      body: discoveryOf(criteriaFor(person, change)),
    });
});

test('nothing that was refused is in a log, and there were some 200 attempts', () => {
  expect(port.logLines.join('\n')).not.toContain(SECRET);
  expect(attempts).toBeGreaterThanOrEqual(200);
});

/** Asked for by each transaction, nothing of it is given. */
async function withNothingGiven(
  of: Target,
  { isShown = false } = {},
): Promise<void> {
  for (const attempt of asking(of).slice(isShown ? 1 : 0))
    await expectNothing(attempt);
}

async function expectNothing(attempt: Attempt): Promise<void> {
  expect(await send(attempt)).toMatchObject({ status: 200, code: undefined });
}
