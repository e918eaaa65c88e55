import { afterAll, describe, expect, test } from 'vitest';
import {
  GatewayClient,
  type GatewayRequest,
} from '../../src/http/gateway-client.ts';
import { IheError } from '../../src/ihe-error.ts';
import { SAML_ATTRIBUTES } from '../../src/security/saml-names.ts';
import { verifySecurity } from '../../src/security/verify-security.ts';
import {
  FAULT_ACTION,
  newMessageId,
  writeEnvelope,
  writeFault,
} from '../../src/soap/write-envelope.ts';
import { mtomMessage, plainMessage } from '../../src/soap/write-message.ts';
import { xml } from '../../src/xml/write-xml.ts';
import { makeNetwork } from '../support/certificates.ts';
import {
  answerTo,
  type ReceivedRequest,
  send,
  startGateway,
} from '../support/gateway.ts';
import { STATEMENT } from '../support/statement.ts';

const { authority, members } = makeNetwork('ours', 'theirs');
const stranger = makeNetwork('stranger');
const client = new GatewayClient({
  credentials: members.ours.credentials,
  trusted: [authority],
});
afterAll(() => client.close());

const request = (address: string): GatewayRequest<Buffer> => ({
  address,
  action: 'urn:ihe:iti:2007:CrossGatewayRetrieve',
  body: xml`<m/>`,
  statement: STATEMENT,
  timeoutMs: 20_000,
});

const gatewayThat = (
  answer: (received: ReceivedRequest) => void | Promise<void>,
) => startGateway(members.theirs, authority, answer);

async function failure(
  sent: Partial<GatewayRequest<Buffer>>,
  answer: (received: ReceivedRequest) => void | Promise<void>,
  by = client,
): Promise<IheError> {
  await using gateway = await gatewayThat(answer);
  return await failureOf(by, { ...request(gateway.address), ...sent });
}

async function failureOf(
  by: GatewayClient,
  sent: GatewayRequest<Buffer>,
): Promise<IheError> {
  try {
    await by.send(sent);
  } catch (error) {
    if (!(error instanceof IheError)) throw error;
    expect(error.message).not.toContain('Mustermann');
    return error;
  }
  throw new Error('It did not fail.');
}

describe('a request to a gateway', () => {
  test('is signed anew each time, and answered with documents', async () => {
    const ids: (string | undefined)[] = [];
    const seen = new Set<string>();
    await using gateway = await gatewayThat(
      async ({ request: received, clientCertificate, response }) => {
        const assertion = await verifySecurity(received, {
          clientCertificate,
          isReplay: ({ signature }) => {
            const isKnown = seen.has(signature);
            seen.add(signature);
            return isKnown;
          },
        });
        const [organization] =
          assertion.attributes.get(SAML_ATTRIBUTES.organization) ?? [];
        ids.push(received.messageId);
        const envelope = writeEnvelope({
          action: 'urn:answer',
          messageId: newMessageId(),
          relatesTo: received.messageId?.replace('urn:uuid:', 'uuid:'),
          body: xml`<m>${String(organization)}</m>`,
        });
        const document = {
          contentId: 'd',
          contentType: 'text/plain',
          bytes: Buffer.from('hello'),
        };
        await send(response, mtomMessage(envelope, 'urn:answer', [document]));
      },
    );
    for (const mtom of [[], undefined]) {
      const answer = await client.send({ ...request(gateway.address), mtom });
      if (answer.kind !== 'answer') throw new Error('It was only accepted.');
      expect(answer.envelope.payload?.text).toBe('Clinic');
      expect(answer.envelope.attachment('cid:d')?.stored.toString()).toBe(
        'hello',
      );
      expect(answer.messageId).toBe(ids.at(-1));
    }
    expect(new Set(ids).size).toBe(2);
  });

  test('may be answered later, elsewhere', async () => {
    const later = 'https://clinic.test/answers';
    await using gateway = await gatewayThat(
      ({ request: received, response }) => {
        response.writeHead(received.replyTo === later ? 202 : 500).end();
      },
    );
    const answer = await client.send({
      ...request(gateway.address),
      replyTo: later,
    });
    expect(answer).toMatchObject({ kind: 'accepted' });
  });

  test('may itself be the answer to an earlier message', async () => {
    const ids: unknown[] = [];
    await using gateway = await gatewayThat(
      ({ request: received, response }) => {
        ids.push(received.relatesTo);
        return send(response, answerTo(received, xml`<m/>`));
      },
    );
    await client.send({ ...request(gateway.address), relatesTo: 'urn:uuid:1' });
    expect(ids).toEqual(['urn:uuid:1']);
  });
});

describe('what fails is named', () => {
  const fault = (code: 'Sender' | 'MustUnderstand', name?: string) =>
    writeFault({
      code,
      subcode: name === undefined ? undefined : { namespace: 'urn:x', name },
      reason: 'No patient Max Mustermann',
    });
  test.each([
    ['fault.mustUnderstand', fault('MustUnderstand'), 500],
    ['fault.action', fault('Sender', 'ActionNotSupported'), 500],
    ['fault.saml', fault('Sender', 'FailedAuthentication'), 200],
    ['fault.sender', fault('Sender'), 400],
  ])('%s', async (code, body, status) => {
    const error = await failure({}, ({ request: received, response }) =>
      send(response, answerTo(received, body, FAULT_ACTION), status),
    );
    expect(error).toMatchObject({ code, status });
  });

  test.each<[string, number, string, string]>([
    ['http', 503, 'text/html', '<html>Max Mustermann</html>'],
    ['http', 404, 'text/plain', 'Max Mustermann'],
    ['http', 500, 'application/soap+xml', ''],
    ['http', 302, 'text/html', ''],
    ['html', 200, 'text/html', '<html>Max Mustermann</html>'],
    ['empty', 200, 'application/soap+xml', ''],
    ['empty', 202, '', ''],
    [
      'wsdl',
      200,
      'text/xml',
      '<definitions xmlns="http://schemas.xmlsoap.org/wsdl/"/>',
    ],
    ['xml.not-well-formed', 200, 'application/soap+xml', '<Mustermann>'],
  ])('%s under HTTP %i', async (code, status, type, body) => {
    const error = await failure({}, ({ response }) => {
      response.writeHead(status, { 'content-type': type }).end(body);
    });
    expect(error.code).toBe(code);
  });

  test('an answer to another message', async () => {
    const error = await failure({}, ({ request: received, response }) =>
      send(
        response,
        answerTo({ ...received, messageId: newMessageId() }, xml`<m/>`),
      ),
    );
    expect(error.code).toBe('unrelated');
  });

  test('a connection that is cut within the answer', async () => {
    const error = await failure({}, ({ response }) => {
      response.writeHead(200, { 'content-type': 'application/soap+xml' });
      response.write('<soap:Envelope', () => response.destroy());
    });
    expect(error.code).toBe('cut');
  });

  test('no answer, and an answer without an end, within the time', async () => {
    const none = await failure({ timeoutMs: 300 }, () => {});
    expect(none).toMatchObject({ code: 'timeout' });
    const endless = await failure({ timeoutMs: 300 }, ({ response }) => {
      response.writeHead(200, { 'content-type': 'application/soap+xml' });
      response.write('<soap:Envelope');
    });
    expect(endless).toMatchObject({ code: 'timeout' });
  });

  test('too much', async () => {
    const error = await failure(
      { limits: { bytes: 100 } },
      ({ request: received, response }) =>
        send(response, answerTo(received, xml`<m/>`)),
    );
    expect(error.code).toBe('too-large');
  });

  test('nobody at the address, or no address', async () => {
    for (const address of ['https://localhost:1/', 'gateway'])
      expect(await failureOf(client, request(address))).toMatchObject({
        code: 'connect',
      });
  });

  test('a certificate that is not trusted, theirs or ours', async () => {
    const trustsNobody = new GatewayClient({
      credentials: members.ours.credentials,
    });
    const unknown = new GatewayClient({
      credentials: stranger.members.stranger.credentials,
      trusted: [authority],
    });
    const nameless = new GatewayClient({ trusted: [authority] });
    const unsigned = { statement: undefined };
    expect(await failure({}, () => {}, trustsNobody)).toMatchObject({
      code: 'tls',
      message: expect.stringContaining("gateway's certificate"),
    });
    // Node.js's servers refuse a certificate after the handshake of TLS 1.3.
    for (const each of [unknown, nameless])
      expect(await failure(unsigned, () => {}, each)).toMatchObject({
        code: expect.stringMatching(/^(?:tls|connect)$/),
        message: expect.stringContaining('our certificate'),
      });
    expect(await failure({}, () => {}, nameless)).toMatchObject({
      code: 'credentials',
    });
    for (const each of [trustsNobody, unknown, nameless]) await each.close();
  });

  test('a signal of the caller stays its own', async () => {
    const reason = new Error('Cancelled.');
    const signal = AbortSignal.abort(reason);
    await expect(
      client.send({ ...request('https://localhost:1/'), signal }),
    ).rejects.toBe(reason);
  });

  test('plain messages are sent with their length', () => {
    expect(plainMessage('é', 'urn:a').contentLength).toBe(2);
  });
});
