import { createHash } from 'node:crypto';
import {
  createServer,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readPatientDiscoveryResponse, readXml, writeSecurity } from '#ihe';
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
  STATEMENT,
} from '../support/network-members.ts';
import { type IpfServer, ipfMissing, startIpf } from './ipf-server.ts';

const missing = ipfMissing();

/**
 * IPF has no WS-Security: what it asks gets a header on its way to us, and goes
 * on with the client certificate. Nothing else of a message is touched.
 */
async function startSigningProxy(
  address: string,
  member: NetworkMember,
  authority: string,
) {
  async function forward(request: IncomingMessage, response: ServerResponse) {
    const plain = (await buffer(request)).toString('latin1');
    const security = writeSecurity(STATEMENT, {
      credentials: member.credentials,
    }).source.replace(
      'soap:mustUnderstand',
      'xmlns:soap="http://www.w3.org/2003/05/soap-envelope" soap:mustUnderstand',
    );
    const signed = plain.replace(
      /<\/(\w+:)?Header>/,
      (end) => `${security}${end}`,
    );
    expect(signed).not.toBe(plain);
    const onward = httpsRequest(
      address,
      {
        method: 'POST',
        ca: authority,
        cert: member.certificate,
        key: member.privateKey,
        headers: { 'content-type': request.headers['content-type'] ?? '' },
      },
      (answer) => {
        response.writeHead(answer.statusCode ?? 500, {
          'content-type': answer.headers['content-type'] ?? '',
        });
        void pipeline(answer, response);
      },
    );
    onward.on('error', () => response.destroy());
    onward.end(Buffer.from(signed, 'latin1'));
  }
  const server = createServer((request, response) => {
    forward(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    host: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => server.close(),
  };
}

const sha = (algorithm: string, bytes: Uint8Array): string =>
  createHash(algorithm).update(bytes).digest('hex');

describe.skipIf(missing !== undefined)('IPF as initiating gateway', () => {
  let ipf: IpfServer;
  let gateway: TestGateway;
  let account: TestAccount;
  let port: Awaited<ReturnType<typeof openTestRespondingGateway>>;
  let proxy: Awaited<ReturnType<typeof startSigningProxy>>;
  beforeAll(async () => {
    ipf = await startIpf();
    gateway = await createTestGateway();
    account = await gateway.addAccount();
    const { authority, members } = await makeNetworkOf('ours', 'theirs');
    const membership = await joinNetwork(gateway, account.accountId, authority);
    port = await openTestRespondingGateway(gateway, members.ours);
    proxy = await startSigningProxy(
      port.addressOf(membership),
      members.theirs,
      authority,
    );
  });
  afterAll(async () => {
    proxy?.close();
    await port?.close();
    await gateway?.close();
    await ipf?.[Symbol.asyncDispose]();
  });

  test('its validators take our answers to ITI-55, 38 and 39, with the exact bytes of two megabytes', async () => {
    const person = newPerson();
    const created = await account.call(
      'POST',
      `patient?facilityId=${account.facilityId}`,
      person,
    );
    const { id } = created.json();
    const bytes = Buffer.alloc(2 * 1024 * 1024, 'Zoë \r\n--uuid:x\0');
    const resource = {
      resourceType: 'DocumentReference',
      id: 'letter',
      status: 'current',
      description: 'Brief & „Übergabe“',
      content: [
        {
          attachment: {
            contentType: 'application/octet-stream',
            data: bytes.toString('base64'),
          },
        },
      ],
    };
    const put = await account.call('PUT', `patient/${id}/consolidated`, {
      resourceType: 'Bundle',
      type: 'collection',
      entry: [{ resource }],
    });
    expect(put.statusCode, put.body).toBe(200);

    const to = `${proxy.host}/x`;
    const discovered = await ipf.ask(
      'iti55',
      { to },
      discoveryOf(criteriaFor(person)).source,
    );
    expect(
      readPatientDiscoveryResponse(readXml(Buffer.from(discovered))),
    ).toMatchObject({
      outcome: 'found',
      patients: [{ patientId: { root: OUR_HOME, extension: id } }],
    });
    const wanting = await ipf.ask(
      'iti55',
      { to },
      discoveryOf(criteriaFor(person, { addresses: [] })).source,
    );
    expect(
      readPatientDiscoveryResponse(readXml(Buffer.from(wanting))).outcome,
    ).toBe('more-attributes-wanted');
    const nobody = await ipf.ask(
      'iti55',
      { to },
      discoveryOf(criteriaFor(newPerson())).source,
    );
    expect(
      readPatientDiscoveryResponse(readXml(Buffer.from(nobody))).outcome,
    ).toBe('nobody');

    const ours = { to, home: OUR_HOME, authority: OUR_HOME };
    const listed = JSON.parse(await ipf.ask('iti38', { ...ours, patient: id }));
    expect(listed).toMatchObject({
      status: 'SUCCESS',
      documents: [
        {
          repository: OUR_HOME,
          home: `urn:oid:${OUR_HOME}`,
          patient: id,
          title: 'Brief & „Übergabe“',
          hash: sha('sha1', bytes),
          size: bytes.length,
        },
      ],
    });
    const unknown = JSON.parse(
      await ipf.ask('iti38', { ...ours, patient: 'p1' }),
    );
    expect(unknown).toMatchObject({
      status: 'FAILURE',
      errors: ['XDSUnknownPatientId'],
    });

    const [{ uniqueId }] = listed.documents;
    const retrieved = JSON.parse(
      await ipf.ask('iti39', {
        to,
        home: OUR_HOME,
        repository: OUR_HOME,
        ids: `${uniqueId},2.25.1`,
      }),
    );
    expect(retrieved).toEqual({
      status: 'PARTIAL_SUCCESS',
      errors: ['XDSDocumentUniqueIdError'],
      documents: [{ uniqueId, sha256: sha('sha256', bytes) }],
    });
  });

  test('its submission is a message about the patient, with the exact bytes, once; one to nobody here is refused', async () => {
    const person = newPerson();
    const created = await account.call(
      'POST',
      `patient?facilityId=${account.facilityId}`,
      person,
    );
    const { id: patientId } = created.json();
    const { facilities } = (await account.call('GET', 'facility')).json();
    const uniqueId = `2.999.10.9.${Date.now()}`;
    const text = 'Brief & „Übergabe“ \r\n--uuid:x';
    const submit = (recipient: string, more: Record<string, string> = {}) =>
      ipf.ask(
        'iti41',
        {
          to: `${proxy.host}/x`,
          recipient,
          uniqueId,
          given: person.firstName,
          family: person.lastName,
          birth: person.dob.replaceAll('-', ''),
          zip: '02108',
          ...more,
        },
        text,
      );
    const taken = { status: 'SUCCESS', errors: [] };
    const unknown = { status: 'FAILURE', errors: ['XDSUnknownCommunity'] };

    expect(JSON.parse(await submit('2.999.77'))).toEqual(unknown);
    const { oid } = facilities[0];
    for (let times = 0; times < 2; times += 1)
      expect(JSON.parse(await submit(oid))).toEqual(taken);

    const { messages } = (
      await account.call('GET', `message?patientId=${patientId}`)
    ).json();
    expect(messages).toMatchObject([
      {
        subject: `Befund & „Überweisung“ ${uniqueId}`,
        body: 'Bitte sehen',
        destination: oid,
        intendedRecipientNpi: ['1234567893'],
      },
    ]);
    const rows = await gateway.store.asAccount(account.accountId, (tx) =>
      tx.db
        .selectFrom('document')
        .select(['size_bytes', 'sha256'])
        .where('message_id', '=', messages[0].id)
        .orderBy('size_bytes')
        .execute(),
    );
    expect(rows.map((row) => Number(row.size_bytes))).toEqual([
      Buffer.byteLength(text),
      2 * 1024 * 1024,
    ]);
    expect(rows[0]?.sha256.toString('hex')).toBe(
      sha('sha256', Buffer.from(text)),
    );

    // ITI-80's slot names the organization, too.
    const behind = { uniqueId: `${uniqueId}.1`, target: `urn:oid:${oid}` };
    expect(JSON.parse(await submit('2.999.77', behind))).toEqual(taken);
  });
});
