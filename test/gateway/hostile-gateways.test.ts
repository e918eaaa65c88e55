import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  buildFindDocuments,
  buildRetrieve,
  buildSubmission,
  CROSS_GATEWAY_ACTIONS,
  DISCOVERY_ACTIONS,
  newMessageId,
  type SamlStatement,
  type SecurityOptions,
  SUBMISSION_ACTIONS,
  writeEnvelope,
  writeSecurity,
  XmlFragment,
} from '#ihe';
import { SUBMISSION_CODES } from '../../src/exchange/messaging/messages/xdr/codes.ts';
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
  OUR_HOME,
  openTestRespondingGateway,
  postRaw,
  type RawAnswer,
  STATEMENT,
  THEIR_HOME,
  TREATMENT,
} from '../support/network-members.ts';

/** In the person whom all requests are about. */
const SECRET = 'Zebrawood';
const HOUR = 3_600_000;

type Network = Awaited<
  ReturnType<typeof makeNetworkOf<'ours' | 'theirs' | 'third'>>
>;

let gateway: TestGateway;
let account: TestAccount;
let network: Network;
let port: Awaited<ReturnType<typeof openTestRespondingGateway>>;
let address: string;
let refusals = 0;

beforeAll(async () => {
  gateway = await createTestGateway();
  account = await gateway.addAccount();
  network = await makeNetworkOf('ours', 'theirs', 'third');
  const { authority, members } = network;
  const membership = await joinNetwork(gateway, account.accountId, authority);
  port = await openTestRespondingGateway(gateway, members.ours);
  address = port.addressOf(membership);
});
afterAll(async () => {
  await port.close();
  await gateway.close();
});

const person = { ...newPerson(), lastName: SECRET };
const PATIENT = { id: SECRET, authority: OUR_HOME };

interface Request {
  action: string;
  body: XmlFragment;
}

const TRANSACTIONS: Readonly<Record<string, () => Request>> = {
  'ITI-55': () => ({
    action: DISCOVERY_ACTIONS.question,
    body: discoveryOf(criteriaFor(person)),
  }),
  'ITI-38': () => ({
    action: CROSS_GATEWAY_ACTIONS.query,
    body: buildFindDocuments({ patient: PATIENT, homeCommunity: OUR_HOME }),
  }),
  'ITI-39': () => ({
    action: CROSS_GATEWAY_ACTIONS.retrieve,
    body: buildRetrieve([
      { uniqueId: SECRET, repository: OUR_HOME, homeCommunity: OUR_HOME },
    ]),
  }),
  'ITI-41': () => ({
    action: SUBMISSION_ACTIONS.submit,
    body: buildSubmission({
      entryUuid: newMessageId(),
      uniqueId: '2.999.7.1',
      sourceId: THEIR_HOME,
      patientId: `${SECRET}^^^&${THEIR_HOME}&ISO`,
      submittedAt: new Date(),
      title: SECRET,
      contentType: SUBMISSION_CODES.contentType,
      documents: [],
    }),
  }),
};

/** A request in parts, each of which can be another. */
interface Hostile {
  security?: string;
  replyTo?: string;
  action?: string;
  change?: (envelope: string) => string;
}

const securityOf = (
  statement: Partial<SamlStatement> = {},
  options: Partial<SecurityOptions> = {},
): string =>
  writeSecurity(
    { ...STATEMENT, ...statement },
    { credentials: network.members.theirs.credentials, ...options },
  ).source;

function envelopeOf(
  { action, body }: Request,
  { security = securityOf(), replyTo, change, ...other }: Hostile = {},
): string {
  const envelope = writeEnvelope({
    action: other.action ?? action,
    messageId: newMessageId(),
    to: 'https://localhost/',
    ...(replyTo === undefined ? {} : { replyTo }),
    headers: [new XmlFragment(security)],
    body,
  });
  return change?.(envelope) ?? envelope;
}

const send = (
  body: string | Buffer,
  more: { method?: string; headers?: Record<string, string> } = {},
) =>
  postRaw(address, body, {
    trusted: network.authority,
    member: network.members.theirs,
    ...more,
  });

/** What is said, without the person. */
function faultOf({ status, text, code, subcode }: RawAnswer) {
  expect(text).not.toContain(SECRET);
  refusals += 1;
  return [status, code, subcode];
}

const partOf = (name: string, security: string): string =>
  new RegExp(`<${name}[ >][\\s\\S]*</${name}>`).exec(security)?.[0] ?? '';
const assertionOf = (security: string) => partOf('saml2:Assertion', security);

/** The header with an assertion of another time, each signed as it must be. */
const withAssertionOf = (now: Date): string => {
  const header = securityOf();
  const old = securityOf({}, { now });
  return header.replace(assertionOf(header), () => assertionOf(old));
};

const sender = (subcode?: string, status = 400) => [status, 'Sender', subcode];

const HOSTILE: [string, () => Hostile, (string | number | undefined)[]][] = [
  [
    'whose assertion is for the holder of another certificate',
    () => {
      const { theirs, third } = network.members;
      const credentials = {
        ...third.credentials,
        privateKey: theirs.credentials.privateKey,
      };
      return { security: securityOf({}, { credentials }) };
    },
    sender('FailedAuthentication'),
  ],
  [
    'whose assertion another member signed',
    () => {
      const header = securityOf();
      const { credentials } = network.members.third;
      const other = assertionOf(securityOf({}, { credentials }));
      return { security: header.replace(assertionOf(header), () => other) };
    },
    sender('FailedCheck'),
  ],
  [
    'whose assertion has ended, under a fresh timestamp',
    () => ({ security: withAssertionOf(new Date(Date.now() - HOUR)) }),
    sender('MessageExpired'),
  ],
  [
    'whose assertion begins later, under a fresh timestamp',
    () => ({ security: withAssertionOf(new Date(Date.now() + HOUR)) }),
    sender('MessageExpired'),
  ],
  [
    'without a MessageID',
    () => ({
      change: (text) =>
        text.replace(/<(\w+):MessageID>.*?<\/\1:MessageID>/, ''),
    }),
    sender('MessageAddressingHeaderRequired'),
  ],
  [
    'whose answer is to go to an address of the cloud',
    () => ({ replyTo: 'http://169.254.169.254/latest/meta-data' }),
    sender('InvalidAddressingHeader'),
  ],
  [
    'whose answer is to go to a file',
    () => ({ replyTo: 'file:///etc/passwd' }),
    sender('InvalidAddressingHeader'),
  ],
  [
    'whose answer is to go nowhere',
    () => ({ replyTo: 'http://www.w3.org/2005/08/addressing/none' }),
    sender('InvalidAddressingHeader'),
  ],
  [
    'with two security headers',
    () => ({ security: securityOf() + securityOf() }),
    sender('InvalidSecurity'),
  ],
  [
    'with two assertions, of which one is signed',
    () => {
      const header = securityOf();
      const forged = assertionOf(header).replace(/ID="[^"]*"/, 'ID="_forged"');
      return {
        security: header.replace(
          '<saml2:Assertion',
          () => `${forged}<saml2:Assertion`,
        ),
      };
    },
    sender('InvalidSecurity'),
  ],
  [
    'whose signed assertion is wrapped into a forged one',
    () => {
      const header = securityOf();
      const signed = assertionOf(header);
      const forged = signed
        .replace(/ID="[^"]*"/, 'ID="_forged"')
        .replace(THEIR_HOME, '2.999.3')
        .replace(
          '</saml2:Assertion>',
          () => `<x:Any xmlns:x="urn:x">${signed}</x:Any></saml2:Assertion>`,
        );
      return { security: header.replace(signed, () => forged) };
    },
    sender('FailedCheck'),
  ],
  [
    'whose assertion anybody may bear',
    () => ({
      change: (text) => text.replaceAll('cm:holder-of-key', 'cm:bearer'),
    }),
    sender('FailedCheck'),
  ],
  [
    'whose timestamp is not signed',
    () => ({
      security: securityOf().replace(
        /(<\/saml2:Assertion>)[\s\S]*(<\/wsse:Security>)/,
        '$1$2',
      ),
    }),
    sender('InvalidSecurity'),
  ],
  [
    'in the name of our own community',
    () => ({ security: securityOf({ homeCommunityId: OUR_HOME }) }),
    sender('FailedAuthentication'),
  ],
  [
    'for a purpose that is not answered',
    () => ({
      security: securityOf({ purpose: { ...TREATMENT, code: 'REQUEST' } }),
    }),
    sender(),
  ],
  [
    'under the action of another',
    () => ({ action: 'urn:ihe:iti:2007:RegisterDocumentSet-b' }),
    sender('ActionNotSupported'),
  ],
];

describe.each(Object.entries(TRANSACTIONS))('a request of %s', (_, request) => {
  test('is answered when it is as it must be', async () => {
    const { status, code } = await send(envelopeOf(request()));
    expect([status, code]).toEqual([200, undefined]);
  });

  test.each(HOSTILE)(
    '%s is refused by that fault',
    async (_name, hostile, fault) => {
      const answer = await send(envelopeOf(request(), hostile()));
      expect(faultOf(answer)).toEqual(fault);
    },
  );

  test('that comes five times at once is answered once', async () => {
    const envelope = envelopeOf(request());
    const answers = await Promise.all(
      Array.from({ length: 5 }, () => send(envelope)),
    );
    const subcodes = answers.map(({ subcode }) => subcode ?? 'answered').sort();
    expect(subcodes).toEqual([
      'FailedCheck',
      'FailedCheck',
      'FailedCheck',
      'FailedCheck',
      'answered',
    ]);
  });

  test('compressed, as another method, or beside the address is no request', async () => {
    const envelope = envelopeOf(request());
    const gzip = { 'content-encoding': 'gzip' };
    const compressed = await send(gzipSync(envelope), { headers: gzip });
    expect(faultOf(compressed)).toEqual(sender());
    for (const method of ['GET', 'PUT', 'DELETE'])
      expect((await send('', { method })).status).toBe(404);
    const trusted = network.authority;
    const member = network.members.theirs;
    for (const beside of ['/', '?wsdl', '/../x'])
      expect(
        (await postRaw(address + beside, envelope, { trusted, member })).status,
      ).toBe(404);
  });
});

test('some sixty requests were refused, none of them with a name, and none is in a log', () => {
  expect(refusals).toBeGreaterThanOrEqual(60);
  expect(port.logLines.join('\n')).not.toContain(SECRET);
});
