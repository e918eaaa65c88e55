import { mkdtempSync, readFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { pino } from 'pino';
import { v7 as uuidv7 } from 'uuid';
import {
  buildFindDocuments,
  buildPatientDiscovery,
  buildRetrieve,
  buildSubmission,
  CROSS_GATEWAY_ACTIONS,
  type Credentials,
  DISCOVERY_ACTIONS,
  type DiscoveryCriteria,
  type DocumentReferenceIds,
  type Envelope,
  GatewayClient,
  type GatewayRequest,
  type OutgoingAttachment,
  readCredentials,
  readEnvelope,
  readFindDocumentsResponse,
  readPatientDiscoveryResponse,
  readRetrieveResponse,
  readSubmissionResponse,
  type SamlStatement,
  SUBMISSION_ACTIONS,
  type SubmissionToBuild,
  type XmlFragment,
} from '#ihe';
import {
  type MembershipSettings,
  membershipSettingsSchema,
} from '../../src/exchange/delivery/responding-gateway/membership-settings.ts';
import { insertMembership } from '../../src/exchange/delivery/responding-gateway/membership-store.ts';
import { createRespondingGateway } from '../../src/exchange/delivery/responding-gateway/open-responding-gateway.ts';
import type { AnswerDeps } from '../../src/exchange/delivery/responding-gateway/transaction.ts';
import { createSubmissionIntake } from '../../src/exchange/messaging/messages/xdr/take-submission.ts';
import { createCcdaConverter } from '../../src/exchange/records/conversion/ccda-converter.ts';
import { createRecordKeeper } from '../../src/exchange/records/record-keeper.ts';
import { makeAuthority, makeCertificate } from './certificates.ts';
import type { TestGateway } from './gateway.ts';
import { TEST_ID_HMAC_KEY } from './test-keys.ts';

export const TREATMENT = {
  code: 'TREATMENT',
  codeSystem: '2.16.840.1.113883.3.18.7.1',
};

export interface NetworkMember {
  certificate: string;
  privateKey: string;
  credentials: Credentials;
}

/** An authority, and a certificate with an RSA key for each name. */
export async function makeNetworkOf<Name extends string>(
  ...names: readonly Name[]
): Promise<{ authority: string; members: Record<Name, NetworkMember> }> {
  const folder = mkdtempSync(join(tmpdir(), 'network-'));
  const authority = await makeAuthority(folder, 'authority');
  const entries = [];
  for (const name of names) {
    const { certFile, keyFile } = await makeCertificate(folder, name, {
      authority,
      names: [`DNS:${name}.test`, 'DNS:localhost', 'IP:127.0.0.1'],
      key: 'rsa',
    });
    const pem = {
      certificate: readFileSync(certFile, 'utf8'),
      privateKey: readFileSync(keyFile, 'utf8'),
    };
    entries.push([name, { ...pem, credentials: readCredentials(pem) }]);
  }
  return {
    authority: readFileSync(authority.certFile, 'utf8'),
    members: Object.fromEntries(entries),
  };
}

export const OUR_HOME = '2.999.1';
export const THEIR_HOME = '2.999.2';

/** A membership of the account, in which `THEIR_HOME` may ask for treatment. */
export async function joinNetwork(
  { store }: Pick<TestGateway, 'store'>,
  accountId: string,
  trusted: string,
  settings: Partial<MembershipSettings> = {},
): Promise<string> {
  const id = uuidv7();
  await store.asSystem((tx) =>
    insertMembership(tx, {
      id,
      accountId,
      name: `Network ${id}`,
      trusted,
      enabled: true,
      settings: membershipSettingsSchema.parse({
        homeCommunity: OUR_HOME,
        organizationName: 'Our clinic',
        purposes: [`${TREATMENT.codeSystem}|${TREATMENT.code}`],
        communities: [{ homeCommunity: THEIR_HOME }],
        requestsPerMinute: 100_000,
        ...settings,
      }),
    }),
  );
  return id;
}

/** The port for gateways, on the store and blobs of a test's gateway. */
export async function openTestRespondingGateway(
  { store, blobs }: Pick<TestGateway, 'store' | 'blobs'>,
  ours: NetworkMember,
  overrides: Partial<Omit<AnswerDeps, 'store'>> = {},
) {
  const logLines: string[] = [];
  const gateway = await createRespondingGateway(
    { cert: ours.certificate, key: ours.privateKey },
    {
      store,
      blobs,
      idHmacKey: TEST_ID_HMAC_KEY,
      records: createRecordKeeper({
        store,
        blobs,
        converter: createCcdaConverter(),
        noteIncomplete: async () => undefined,
      }),
      acceptDeferred: async () => undefined,
      takeSubmission: createSubmissionIntake({
        store,
        blobs,
        idHmacKey: TEST_ID_HMAC_KEY,
        arrivals: { tell: () => undefined },
      }),
      logger: pino(
        { level: 'debug' },
        { write: (line: string) => void logLines.push(line) },
      ),
      ...overrides,
    },
  );
  await new Promise<void>((resolve) =>
    gateway.server.listen(0, '127.0.0.1', resolve),
  );
  const { port } = gateway.server.address() as AddressInfo;
  return {
    ...gateway,
    logLines,
    addressOf: (membershipId: string) =>
      `https://localhost:${port}/ihe/${membershipId}`,
  };
}

export const STATEMENT: SamlStatement = {
  subject: 'Clinic system',
  organization: 'Their clinic',
  organizationId: THEIR_HOME,
  homeCommunityId: THEIR_HOME,
  role: { code: '46255001', codeSystem: '2.16.840.1.113883.6.96' },
  purpose: TREATMENT,
};

/** What another member asks and sends, by the four transactions. */
export function askerAt(
  address: string,
  member: NetworkMember,
  trusted: string,
  statement: SamlStatement = STATEMENT,
) {
  const client = new GatewayClient({
    credentials: member.credentials,
    trusted: [trusted],
  });
  const send = async (
    action: string,
    body: XmlFragment,
    more: Partial<GatewayRequest<Buffer>> = {},
  ): Promise<Envelope> => {
    const answer = await client.send({
      address,
      action,
      body,
      statement,
      timeoutMs: 240_000,
      ...more,
    });
    if (answer.kind !== 'answer') throw new Error('not answered');
    return answer.envelope;
  };
  const payloadIn = ({ payload }: Envelope) => {
    if (payload === undefined) throw new Error('an empty answer');
    return payload;
  };
  return {
    client,
    send,
    discover: async (criteria: DiscoveryCriteria) =>
      readPatientDiscoveryResponse(
        payloadIn(
          await send(DISCOVERY_ACTIONS.question, discoveryOf(criteria)),
        ),
      ),
    find: async (
      patientId: string,
      more: Partial<Parameters<typeof buildFindDocuments>[0]> = {},
    ) =>
      readFindDocumentsResponse(
        payloadIn(
          await send(
            CROSS_GATEWAY_ACTIONS.query,
            buildFindDocuments({
              patient: { id: patientId, authority: OUR_HOME },
              homeCommunity: OUR_HOME,
              ...more,
            }),
          ),
        ),
      ),
    submit: async (
      submission: SubmissionToBuild,
      attachments: readonly OutgoingAttachment[] = [],
      headers: readonly XmlFragment[] = [],
    ) =>
      readSubmissionResponse(
        payloadIn(
          await send(SUBMISSION_ACTIONS.submit, buildSubmission(submission), {
            mtom: attachments,
            headers,
          }),
        ),
      ),
    async retrieve(documents: readonly DocumentReferenceIds[]) {
      const mtom: OutgoingAttachment[] = [];
      const envelope = await send(
        CROSS_GATEWAY_ACTIONS.retrieve,
        buildRetrieve(documents),
        { mtom },
      );
      const answer = readRetrieveResponse(payloadIn(envelope));
      const bytes = answer.documents.map(({ content }) =>
        content.in === 'attachment'
          ? envelope.attachment(content.reference)?.stored
          : undefined,
      );
      return { ...answer, bytes };
    },
  };
}

export type TestAsker = ReturnType<typeof askerAt>;

/** A fault, or what else came, to a message that was written by hand. */
export interface RawAnswer {
  status: number;
  text: string;
  code?: string | undefined;
  subcode?: string | undefined;
}

/** Sends bytes as they are, with a client certificate or none. */
export async function postRaw(
  address: string,
  body: string | Buffer,
  {
    trusted,
    member,
    method = 'POST',
    headers = {},
  }: {
    trusted: string;
    member: NetworkMember | undefined;
    method?: string;
    headers?: Record<string, string>;
  },
): Promise<RawAnswer> {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    httpsRequest(
      address,
      {
        method,
        ca: trusted,
        cert: member?.certificate,
        key: member?.privateKey,
        agent: false,
        headers: {
          'content-type': 'application/soap+xml; charset=UTF-8',
          ...headers,
        },
      },
      resolve,
    )
      .on('error', reject)
      .end(body);
  });
  const text = (await buffer(response)).toString();
  const { statusCode: status = 0 } = response;
  const type = response.headers['content-type'];
  if (!/xml/.test(type ?? '')) return { status, text };
  const { fault } = await readEnvelope(Buffer.from(text), type);
  return { status, text, code: fault?.code, subcode: fault?.subcodes[0] };
}

export const discoveryOf = (
  criteria: DiscoveryCriteria,
  more: Partial<Parameters<typeof buildPatientDiscovery>[0]> = {},
): XmlFragment =>
  buildPatientDiscovery({
    messageId: { root: uuidv7(), extension: undefined },
    sentAt: new Date(),
    processing: 'T',
    sender: { deviceId: THEIR_HOME, homeCommunity: THEIR_HOME },
    receiver: { deviceId: OUR_HOME, homeCommunity: OUR_HOME },
    queryId: { root: THEIR_HOME, extension: uuidv7() },
    criteria,
    ...more,
  });

/** A question for a person of `newPerson`. */
export function criteriaFor(
  person: {
    firstName: string;
    lastName: string;
    dob: string;
    genderAtBirth: string;
    address: readonly { zip: string }[];
  },
  changes: Partial<DiscoveryCriteria> = {},
): DiscoveryCriteria {
  return {
    genders: [person.genderAtBirth],
    birthTimes: [person.dob.replaceAll('-', '')],
    birthPlaceAddresses: [],
    birthPlaceNames: [],
    ids: [],
    names: [
      {
        family: [person.lastName],
        given: [person.firstName],
        prefix: [],
        suffix: [],
      },
    ],
    mothersMaidenNames: [],
    addresses: person.address.map(({ zip }) => ({
      lines: [],
      city: undefined,
      state: undefined,
      zip,
      country: undefined,
    })),
    telecoms: [],
    principalCareProviderIds: [],
    ...changes,
  };
}
