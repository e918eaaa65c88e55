import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  type DeliveryReport,
  DirectError,
  deliveryOutcome,
  readMail,
  whatReportSays,
  writeDisposition,
  writeMail,
} from '../src/index.ts';

const SENT_AT = new Date('2026-11-29T12:00:00Z');
const minutesLater = (minutes: number) =>
  new Date(SENT_AT.getTime() + minutes * 60_000);

const RECIPIENT = 'Bob@direct.bob.example';

function mdn(disposition: string, ...modifiers: string[]): DeliveryReport {
  return {
    kind: 'mdn',
    about: 'm1',
    finalRecipient: 'bob@direct.bob.example',
    disposition,
    modifiers,
  };
}

function dsn(action: string | undefined, status?: string): DeliveryReport {
  const finalRecipient = 'bob@direct.bob.example';

  return {
    kind: 'dsn',
    about: 'm1',
    recipients: [{ finalRecipient, action, status }],
  };
}

/** How it stands after what arrived at some minutes. */
function after(
  minutes: number,
  arrived: readonly (readonly [number, DeliveryReport])[],
  asksForDispatched = false,
) {
  const receipts = arrived.flatMap(([at, report]) => {
    const says = whatReportSays(report, RECIPIENT);

    return says === undefined ? [] : [{ says, arrivedAt: minutesLater(at) }];
  });

  return deliveryOutcome(
    { sentAt: SENT_AT, asksForDispatched },
    receipts,
    minutesLater(minutes),
  );
}

test('an hour without a notification is a failure', () => {
  expect(after(59, [])).toBe('waiting');
  expect(after(61, [])).toBe('failed');
  expect(after(61, [[5, mdn('processed')]])).toBe('delivered');
  expect(after(61, [[5, mdn('processed')]], true)).toBe('failed');
  expect(after(30, [[5, mdn('dispatched')]], true)).toBe('delivered');
});

test('what comes late turns success into failure, and never failure into success', () => {
  expect(after(200, [[90, mdn('processed')]])).toBe('failed');
  expect(
    after(200, [
      [5, mdn('processed')],
      [90, mdn('failed')],
    ]),
  ).toBe('failed');

  const said = fc.constantFrom('processed', 'dispatched', 'displayed', 'x');
  const late = fc.array(fc.tuple(fc.integer({ min: 61, max: 500 }), said));
  fc.assert(
    fc.property(late, fc.boolean(), (reports, asks) => {
      const arrived = reports.map(([at, what]) => [at, mdn(what)] as const);

      return after(600, arrived, asks) === 'failed';
    }),
  );
});

test('an error, a denial and a permanent failure of the mail are failures', () => {
  expect(after(1, [[1, mdn('processed', 'error')]])).toBe('failed');
  expect(after(1, [[1, mdn('denied')]])).toBe('failed');
  expect(after(1, [[1, dsn('failed', '5.1.1')]])).toBe('failed');
  expect(after(1, [[1, dsn(undefined, '5.1.1')]])).toBe('failed');
});

test('what says nothing of the message at this recipient counts for nothing', () => {
  const ofEve = { ...mdn('failed'), finalRecipient: 'eve@direct.bob.example' };

  expect(after(1, [[1, ofEve]])).toBe('waiting');
  expect(after(1, [[1, mdn('')]])).toBe('waiting');
  expect(after(1, [[1, mdn('__proto__')]])).toBe('waiting');
  expect(after(1, [[1, dsn('delayed', '4.4.7')]])).toBe('waiting');
  expect(after(1, [[1, dsn('delivered', '2.0.0')]])).toBe('waiting');
  expect(after(1, [[1, dsn(undefined)]])).toBe('waiting');
});

test('a notification that we write is read as what it says', async () => {
  const mail = await writeDisposition({
    messageId: 'n1@direct.bob.example',
    from: 'bob@direct.bob.example',
    to: 'alice@direct.alice.example',
    sentAt: SENT_AT,
    about: 'm1@direct.alice.example',
    disposition: 'processed',
    reportingAgent: 'direct.bob.example; Exchange',
  });

  expect(mail.toString()).toMatch(
    /^Content-Type: multipart\/report;\s+report-type=disposition-notification;/m,
  );
  expect((await readMail(mail)).report).toEqual({
    kind: 'mdn',
    about: 'm1@direct.alice.example',
    finalRecipient: 'bob@direct.bob.example',
    disposition: 'processed',
    modifiers: [],
  });
});

test('a context says what was put into it, and no value states another field', async () => {
  const mail = await writeMail({
    messageId: 'm1@direct.alice.example',
    from: 'alice@direct.alice.example',
    to: ['bob@direct.bob.example'],
    sentAt: SENT_AT,
    subject: 'Referral',
    context: {
      id: 'c1@direct.alice.example',
      patientIds: ['2.999.1:17', '2.999.2:18'],
      type: 'radiology/report',
      purpose: 'treatment',
      patient: { givenName: 'Jané', surname: 'Doe; gender=F\r\ntype: x' },
    },
  });

  expect((await readMail(mail)).context).toEqual({
    version: '1.1',
    id: 'c1@direct.alice.example',
    patientIds: ['2.999.1:17', '2.999.2:18'],
    type: 'radiology/report',
    purpose: 'treatment',
    patient: { givenName: 'Jané', surname: 'Doe  gender F type: x' },
  });
});

test('the reader takes any bytes, or refuses them as no mail', async () => {
  const lines = fc.constantFrom(
    'Content-Type: multipart/report; boundary=b',
    'Content-Type: message/delivery-status',
    'Content-Type: message/disposition-notification',
    'Content-Transfer-Encoding: base64',
    'X-Direct-Context: <c>',
    'Content-ID: <c>',
    'Final-Recipient: rfc822;',
    'Disposition: ;/,',
    'patient: a=b; =',
    '--b',
    '--b--',
    '',
  );
  const mails = fc.array(fc.oneof(lines, fc.string()), { maxLength: 40 });

  await fc.assert(
    fc.asyncProperty(mails, async (each) => {
      await readMail(Buffer.from(each.join('\r\n'))).catch((error: unknown) => {
        if (!(error instanceof DirectError)) throw error;
      });
    }),
  );
});
