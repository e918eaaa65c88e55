import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import { readEnvelope } from '../../src/soap/read-envelope.ts';
import type { SoapFault } from '../../src/soap/soap-fault.ts';
import {
  FAULT_ACTION,
  newMessageId,
  writeEnvelope,
  writeFault,
} from '../../src/soap/write-envelope.ts';
import { xml } from '../../src/xml/write-xml.ts';

async function faultIn(envelope: string): Promise<SoapFault> {
  const { fault } = await readEnvelope(Buffer.from(envelope), undefined);
  if (fault === undefined) throw new Error('There is no fault.');
  return fault;
}

const inEnvelope = (body: ReturnType<typeof xml>) =>
  writeEnvelope({ action: FAULT_ACTION, messageId: newMessageId(), body });

describe('a SOAP fault', () => {
  test.each([
    ['Sender', undefined, 'sender'],
    ['Receiver', undefined, 'receiver'],
    ['MustUnderstand', undefined, 'mustUnderstand'],
    ['VersionMismatch', undefined, 'version'],
    ['Sender', 'ActionNotSupported', 'action'],
    ['Sender', 'FailedAuthentication', 'saml'],
    ['Receiver', 'SecurityError', 'saml'],
    ['Sender', 'constructor', 'sender'],
  ] as const)('%s with subcode %s is of kind %s', async (code, name, kind) => {
    const subcode = name && { namespace: 'urn:x', name };
    const body = writeFault({ code, subcode, reason: 'No.' });
    const fault = await faultIn(inEnvelope(body));
    expect(fault).toMatchObject({ code, kind, subcodes: name ? [name] : [] });
  });

  test('its reason, which may name a patient, shows in no log', async () => {
    const reason = 'No patient Max Mustermann';
    const fault = await faultIn(
      inEnvelope(writeFault({ code: 'Sender', reason })),
    );
    expect(fault.confidentialReason()).toBe(reason);
    const shown = `${fault} ${JSON.stringify(fault)} ${inspect(fault, { showHidden: true, depth: 9 })}`;
    expect(shown).not.toContain('Mustermann');
  });

  test('of SOAP 1.1 is one too', async () => {
    const fault = await faultIn(
      '<s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/"><s:Body><s:Fault><faultcode>s:Client.FailedCheck</faultcode><faultstring>No.</faultstring></s:Fault></s:Body></s:Envelope>',
    );
    expect(fault).toMatchObject({ code: 'Client', kind: 'saml' });
  });

  test('a person named Fault is none', async () => {
    const body = xml`<m><family>Fault</family></m>`;
    const { fault } = await readEnvelope(Buffer.from(inEnvelope(body)), '');
    expect(fault).toBeUndefined();
  });
});
