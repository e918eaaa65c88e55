import { createHash } from 'node:crypto';
import { Registry } from 'prom-client';
import { expect, onTestFinished, test } from 'vitest';
import type {
  Begin,
  BeginOptions,
  Cursor,
  HeldCandidate,
  SourcePage,
} from '../../../../src/exchange/sources/connectors/connector.ts';
import { SourceFailure } from '../../../../src/exchange/sources/connectors/connector.ts';
import type { ConnectorDeps } from '../../../../src/exchange/sources/connectors/fhir-connector.ts';
import { createIheConnector } from '../../../../src/exchange/sources/connectors/ihe/ihe-connector.ts';
import { iheSettingsSchema } from '../../../../src/exchange/sources/connectors/ihe/ihe-settings.ts';
import { countGatewayRequests } from '../../../../src/exchange/sources/health/gateway-requests.ts';
import {
  ADA,
  ADAS_DEMOGRAPHICS,
  GATEWAY_COMMUNITY,
  type GatewayBehaviour,
  type GatewayDocument,
  holding,
  matchFor,
  OUR_COMMUNITY,
  type RespondingGateway,
  startRespondingGateway,
} from '../../../support/responding-gateway.ts';

const document = (
  number: number,
  rest: Partial<GatewayDocument> = {},
): GatewayDocument => ({
  uniqueId: `1.2.3.${number}`,
  bytes: Buffer.from(`document ${number} \r\n\0\xff`, 'latin1'),
  mimeType: 'text/plain',
  ...rest,
});
const documents = (count: number) =>
  Array.from({ length: count }, (_, index) => document(index + 1));

const KNOWN: GatewayBehaviour = {
  discover: () => ({ patients: [matchFor(ADA)] }),
  ...holding(documents(3)),
};

async function startGateway(
  behaviour: Partial<GatewayBehaviour> = {},
): Promise<RespondingGateway> {
  const gateway = await startRespondingGateway({ ...KNOWN, ...behaviour });
  onTestFinished(gateway.close);
  return gateway;
}

const connectorTo = (
  { url }: Pick<RespondingGateway, 'url'>,
  settings: object = {},
  clock?: { now(): number },
  deps: ConnectorDeps = {},
) =>
  createIheConnector(
    { source: 'hie', baseUrl: `${url}/discovery`, auth: { kind: 'none' } },
    iheSettingsSchema.parse({
      queryUrl: `${url}/query`,
      retrieveUrl: `${url}/retrieve`,
      homeCommunity: GATEWAY_COMMUNITY,
      ownHomeCommunity: OUR_COMMUNITY,
      answerTimeoutSeconds: 5,
      ...settings,
    }),
    { ...deps, clock },
  );

const never = new AbortController().signal;

const begin = (
  gateway: RespondingGateway,
  settings: object = {},
  options: BeginOptions = {},
): Promise<Begin> =>
  connectorTo(gateway, settings).begin(ADAS_DEMOGRAPHICS, options, never);

async function collected(begun: Begin): Promise<SourcePage[]> {
  if (begun.kind !== 'ready') throw new Error(`the gateway said ${begun.kind}`);
  return read(begun.pages);
}

async function read(pages: AsyncIterable<SourcePage>): Promise<SourcePage[]> {
  const all: SourcePage[] = [];
  for await (const page of pages) all.push(page);
  return all;
}

const failureOf = (begun: Promise<unknown>): Promise<SourceFailure> =>
  begun.then(
    () => {
      throw new Error('it did not fail');
    },
    (error: unknown) => {
      if (error instanceof SourceFailure) return error;
      throw error;
    },
  );

const textsOf = (pages: readonly SourcePage[]): string[] =>
  pages
    .flatMap(({ attachments }) => attachments)
    .map(({ bytes }) => bytes.toString('latin1'));
const gapsOf = (pages: readonly SourcePage[]): string[] =>
  pages.flatMap(({ reported, skippedReasons = [] }) => [
    ...(reported?.gaps ?? []),
    ...skippedReasons,
  ]);
const warningsOf = (pages: readonly SourcePage[]): string[] =>
  pages.flatMap(({ reported }) => reported?.warnings ?? []);

test('a patient is found, the documents are listed, and their exact bytes come batch after batch', async () => {
  const gateway = await startGateway(holding(documents(7)));
  const pages = await collected(
    await begin(gateway, { documentsPerRetrieval: 3 }),
  );
  expect(gateway.asked.retrievals.map(({ length }) => length)).toEqual([
    3, 3, 1,
  ]);
  expect(textsOf(pages)).toEqual(
    documents(7).map(({ bytes }) => bytes.toString('latin1')),
  );
  const [list] = pages;
  expect(list?.raw.bytes.toString()).toContain('AdhocQueryResponse');
  expect(list?.resources).toHaveLength(7);
  expect(list?.resources[0]).toMatchObject({
    resourceType: 'DocumentReference',
    status: 'current',
    masterIdentifier: { value: 'urn:oid:1.2.3.1' },
    date: '2026-03-01T12:00:00.000Z',
    subject: { reference: `Patient/${list?.patientIds[0]}` },
    custodian: { identifier: { value: `urn:oid:${GATEWAY_COMMUNITY}` } },
    content: [{ attachment: { contentType: 'text/plain' } }],
  });
  expect(gapsOf(pages).concat(warningsOf(pages))).toEqual([]);
  expect(pages.at(-1)?.next).toBeNull();
});

test('a killed collection goes on after the last stored page and asks for no document twice', async () => {
  const gateway = await startGateway(holding(documents(6)));
  const settings = { documentsPerRetrieval: 2 };
  const begun = await begin(gateway, settings);
  if (begun.kind !== 'ready') throw new Error('not ready');
  let cursor: Cursor | null = null;
  const texts: string[] = [];
  for await (const page of begun.pages) {
    texts.push(...textsOf([page]));
    cursor = JSON.parse(JSON.stringify(page.next)) as Cursor;
    if (texts.length > 0) break;
  }
  while (cursor !== null)
    for await (const page of connectorTo(gateway, settings).resume(
      cursor,
      never,
    )) {
      texts.push(...textsOf([page]));
      cursor = page.next;
      break;
    }
  expect(texts).toHaveLength(6);
  expect(new Set(texts).size).toBe(6);
  const asked = gateway.asked.retrievals.flat().map((each) => each.uniqueId);
  expect(new Set(asked).size).toBe(asked.length);
});

test('each message has an id of its own, also when it is sent again', async () => {
  const gateway = await startGateway();
  await collected(await begin(gateway));
  const { messageIds } = gateway.asked;
  expect(new Set(messageIds).size).toBe(messageIds.length);
});

test('a gateway that says so knows nobody; one that fails is never taken for it', async () => {
  const nobody = await startGateway({ discover: () => ({ patients: [] }) });
  expect(await begin(nobody)).toMatchObject({
    kind: 'unknown-patient',
    warnings: [],
  });
  const failing: Array<[Partial<GatewayBehaviour>, string, RegExp]> = [
    [
      { discover: () => ({ problem: 'ResponderBusy' }) },
      'transport',
      /ResponderBusy/,
    ],
    [
      { discover: () => ({ problem: 'InternalError' }) },
      'bad-answer',
      /InternalError/,
    ],
    [answering(200, ''), 'bad-answer', /nothing at all/],
    [answering(200, '<html><body>Log in</body></html>'), 'bad-answer', /page/],
    [answering(503, 'busy'), 'transport', /503/],
    [answering(403, 'no'), 'denied', /403/],
    [
      answering(
        200,
        '<definitions xmlns="http://schemas.xmlsoap.org/wsdl/"/>',
        'text/xml',
      ),
      'refused',
      /description of a service/,
    ],
    [
      answering(
        200,
        '<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>',
        'application/soap+xml',
      ),
      'bad-answer',
      /DOCTYPE/,
    ],
  ];
  for (const [behaviour, kind, message] of failing) {
    const failure = await failureOf(begin(await startGateway(behaviour)));
    expect(failure.kind).toBe(kind);
    expect(failure.message).toMatch(message);
  }
});

test('a fault names its cause and never the patient', async () => {
  const fault = (code: string, subcode: string) =>
    answering(
      500,
      `<s:Envelope xmlns:s="http://www.w3.org/2003/05/soap-envelope"><s:Body><s:Fault><s:Code><s:Value>s:${code}</s:Value>
      <s:Subcode><s:Value>x:${subcode}</s:Value></s:Subcode></s:Code><s:Reason><s:Text xml:lang="en">Ada Lovelace is unknown</s:Text>
      </s:Reason></s:Fault></s:Body></s:Envelope>`,
      'application/soap+xml',
    );
  const cases: Array<[Partial<GatewayBehaviour>, string, RegExp]> = [
    [fault('MustUnderstand', ''), 'denied', /WS-Security/],
    [fault('Sender', 'ActionNotSupported'), 'denied', /transaction/],
    [fault('Sender', 'InvalidSecurity'), 'denied', /assertion/],
    [fault('Sender', 'Other'), 'refused', /Other/],
    [fault('Receiver', ''), 'transport', /Receiver/],
  ];
  for (const [behaviour, kind, message] of cases) {
    const failure = await failureOf(begin(await startGateway(behaviour)));
    expect(failure.message).toMatch(message);
    expect(failure.kind).toBe(kind);
    expect(failure.message).not.toMatch(/Ada|Lovelace/);
  }
});

test('each request to a gateway is counted by transaction and outcome', async () => {
  const { url, behave } = await startGateway({
    intercept: async (_envelope, response) => {
      response.writeHead(503).end();
      return true;
    },
  });
  const metrics = new Registry();
  const connector = connectorTo({ url }, {}, undefined, {
    countRequest: countGatewayRequests(metrics),
  });
  await expect(connector.begin(ADAS_DEMOGRAPHICS, {}, never)).rejects.toThrow();
  behave({ intercept: undefined });
  await connector.begin(ADAS_DEMOGRAPHICS, {}, never);
  const shown = await metrics.metrics();
  for (const outcome of ['transport', 'answered'])
    expect(shown).toContain(
      `gateway_requests_total{source="hie",transaction="ITI-55",outcome="${outcome}"} 1`,
    );
});

test('a gateway whose clock is off is told so where it refuses our times', async () => {
  const gateway = await startGateway({
    intercept: (_envelope, response) => {
      response.writeHead(500, {
        'content-type': 'application/soap+xml',
        date: new Date(Date.now() - 20 * 60_000).toUTCString(),
      });
      response.end(
        '<s:Envelope xmlns:s="http://www.w3.org/2003/05/soap-envelope"><s:Body><s:Fault><s:Code><s:Value>s:Sender</s:Value><s:Subcode><s:Value>w:MessageExpired</s:Value></s:Subcode></s:Code></s:Fault></s:Body></s:Envelope>',
      );
      return true;
    },
  });
  expect((await failureOf(begin(gateway))).message).toContain(
    'its clock is 20 minutes behind ours',
  );
});

test('the answer to another message is refused', async () => {
  const gateway = await startGateway({
    intercept: (_envelope, response) => {
      response.writeHead(200, { 'content-type': 'application/soap+xml' });
      response.end(
        '<s:Envelope xmlns:s="http://www.w3.org/2003/05/soap-envelope" xmlns:a="http://www.w3.org/2005/08/addressing"><s:Header><a:RelatesTo>urn:uuid:of-another</a:RelatesTo></s:Header><s:Body><x/></s:Body></s:Envelope>',
      );
      return true;
    },
  });
  expect((await failureOf(begin(gateway))).message).toMatch(/another message/);
});

test('a gateway that wants to know more is asked again with what we have', async () => {
  const gateway = await startGateway({
    discover: ({ criteria }) =>
      criteria.ids.length === 0
        ? { wantedAttributes: ['SSNRequested'] }
        : { patients: [matchFor(ADA)] },
  });
  expect((await begin(gateway)).kind).toBe('ready');
  expect(gateway.asked.discoveries.map(({ criteria }) => criteria.ids)).toEqual(
    [[], [{ root: '2.16.840.1.113883.4.1', extension: '123-45-6780' }]],
  );
  gateway.behave({
    discover: () => ({ wantedAttributes: ['MothersMaidenNameRequested'] }),
  });
  const failure = await failureOf(begin(gateway));
  expect(failure.kind).toBe('refused');
  expect(failure.message).toContain("the mother's maiden name");
});

test('several who may be the patient in one community are held for a person to decide', async () => {
  const gateway = await startGateway({
    discover: () => ({
      patients: [matchFor(ADA, { id: 'one' }), matchFor(ADA, { id: 'two' })],
    }),
  });
  const held: HeldCandidate[] = [];
  const review = {
    decided: new Map<string, boolean>(),
    note: async (candidates: readonly HeldCandidate[]) =>
      void held.push(...candidates),
  };
  const connector = connectorTo(gateway);
  const begun = await connector.begin(
    { ...ADAS_DEMOGRAPHICS, review },
    {},
    never,
  );
  expect(begun).toMatchObject({
    kind: 'unknown-patient',
    notice: expect.stringContaining('2 Patients who may be this patient'),
  });
  expect(held.map(({ id }) => id.split('.')[0])).toEqual(['one', 'two']);
  const decided = new Map([[held[1]?.id ?? '', true]]);
  const again = await connector.begin(
    { ...ADAS_DEMOGRAPHICS, review: { ...review, decided } },
    {},
    never,
  );
  expect(again).toMatchObject({
    kind: 'ready',
    patientIds: [held[1]?.id],
  });
});

test('the patient of several communities is asked for at each of them, and another person nowhere', async () => {
  const other = '2.16.840.1.113883.3.9999.7';
  const gateway = await startGateway({
    discover: () => ({
      patients: [
        matchFor(ADA),
        matchFor(ADA, { id: '99', homeCommunity: other }),
        matchFor({ ...ADA, firstName: 'Bob', gender: 'M' }, { id: '5' }),
      ],
    }),
  });
  const elsewhere = await startGateway(
    holding([
      document(8, {
        homeCommunity: other,
        listed: { patientId: '99^^^&2.16.840.1.113883.3.9999.1.2&ISO' },
      }),
    ]),
  );
  const begun = await begin(gateway, {
    otherCommunities: [
      {
        homeCommunity: `urn:oid:${other}`,
        queryUrl: `${elsewhere.url}/query`,
        retrieveUrl: `${elsewhere.url}/retrieve`,
      },
    ],
  });
  const pages = await collected(begun);
  expect(gateway.asked.queries).toBe(1);
  expect(elsewhere.asked.queries).toBe(1);
  expect(elsewhere.asked.retrievals.flat()).toMatchObject([
    { uniqueId: '1.2.3.8', homeCommunity: `urn:oid:${other}` },
  ]);
  expect(textsOf(pages)).toHaveLength(4);
});

test('a match that describes another person fails the query with the remedy', async () => {
  const gateway = await startGateway({
    discover: () => ({
      patients: [matchFor({ ...ADA, firstName: 'Bob', dob: '1951-01-01' })],
    }),
  });
  const failure = await failureOf(begin(gateway));
  expect(failure.kind).toBe('refused');
  expect(failure.message).toContain('another patient as the match');
});

test('documents that did not come are asked for alone, and then are a gap that is said', async () => {
  const all = documents(4);
  const gateway = await startGateway({
    find: () => ({ documents: all }),
    retrieve: () => ({ documents: all.slice(0, 1) }),
  });
  const pages = await collected(await begin(gateway));
  expect(gateway.asked.retrievals.map(({ length }) => length)).toEqual([
    4, 1, 1, 1,
  ]);
  expect(textsOf(pages)).toHaveLength(1);
  expect(pages.reduce((sum, page) => sum + page.skippedAttachments, 0)).toBe(3);
  expect(new Set(gapsOf(pages))).toEqual(
    new Set(['hie left out documents that were asked for, without a reason']),
  );
  expect(warningsOf(pages)).toContain(
    'Documents that nobody asked for came, and were discarded',
  );
});

test('a busy repository is asked again later, and the other documents come before', async () => {
  const all = documents(3);
  let isBusy = true;
  const gateway = await startGateway({
    find: () => ({ documents: all }),
    retrieve: (asked) => {
      const isFirst = asked.some(({ uniqueId }) => uniqueId === '1.2.3.1');
      return isFirst && isBusy
        ? {
            status: 'Failure',
            documents: [],
            faults: [{ code: 'XDSRepositoryBusy', context: 'Ada Lovelace' }],
          }
        : holding(all).retrieve(asked);
    },
  });
  const begun = await begin(gateway, { documentsPerRetrieval: 1 });
  if (begun.kind !== 'ready') throw new Error('not ready');
  const texts: string[] = [];
  let cursor: Cursor | null = null;
  const failure = await failureOf(
    (async () => {
      for await (const page of begun.pages) {
        texts.push(...textsOf([page]));
        cursor = page.next;
      }
    })(),
  );
  expect(failure.kind).toBe('transport');
  expect(failure.message).toMatch(/XDSRepositoryBusy/);
  expect(failure.message).not.toMatch(/Ada/);
  expect(texts).toHaveLength(2);
  if (cursor === null) throw new Error('no cursor');
  // Hours later, what is still missing is said, and the query completes.
  const later = { now: () => Date.now() + 3 * 60 * 60_000 };
  const given = await read(
    connectorTo(gateway, {}, later).resume(cursor, never),
  );
  expect(gapsOf(given).join()).toMatch(/XDSRepositoryBusy/);
  isBusy = false;
  const rest = await read(connectorTo(gateway).resume(cursor, never));
  expect(textsOf(rest)).toEqual([all[0]?.bytes.toString('latin1')]);
});

test('a document that is stored is not retrieved again; one made on demand only when something changed', async () => {
  const stable = documents(2);
  const onDemand = document(9, { isOnDemand: true });
  const gateway = await startGateway(holding([...stable, onDemand]));
  const first = await collected(await begin(gateway));
  const stored = new Map(
    first
      .flatMap(({ attachments }) => attachments)
      .map(({ sourceDocumentId }) => [sourceDocumentId, new Date()]),
  );
  expect(stored.size).toBe(3);
  const again = await collected(
    await begin(gateway, {}, { storedDocuments: stored }),
  );
  expect(textsOf(again)).toEqual([]);
  expect(again[0]?.resources).toHaveLength(3);
  gateway.behave(holding([...stable, document(3), onDemand]));
  const changed = await collected(
    await begin(gateway, {}, { storedDocuments: stored }),
  );
  expect(textsOf(changed)).toEqual(
    [document(3), onDemand].map(({ bytes }) => bytes.toString('latin1')),
  );
});

test('two entries of one document are one, whoever writes its ids how', async () => {
  const one = document(1);
  const gateway = await startGateway({
    find: () => ({
      documents: [one, { ...one, listed: { uniqueId: 'urn:oid:1.2.3.1' } }],
    }),
  });
  const [list] = await collected(await begin(gateway));
  expect(list?.resources).toHaveLength(1);
});

test('bytes that differ from their entry are kept and remarked', async () => {
  const gateway = await startGateway(
    holding([document(1, { listed: { size: 7, hash: 'A'.repeat(40) } })]),
  );
  const pages = await collected(await begin(gateway));
  expect(textsOf(pages)).toHaveLength(1);
  expect(warningsOf(pages)).toEqual([
    'The size or hash of a document is other than its list says; it was kept as it came',
  ]);
});

test('an entry about another patient is not stored, not even in the raw answer', async () => {
  const gateway = await startGateway(
    holding([
      document(1),
      document(2, {
        listed: {
          patientId: '999^^^&2.16.840.1.113883.3.9999.1.2&ISO',
          title: 'Of somebody else',
        },
      }),
    ]),
  );
  const pages = await collected(await begin(gateway));
  expect(pages[0]).toMatchObject({ misattributedCount: 1 });
  expect(pages[0]?.resources).toHaveLength(1);
  expect(pages[0]?.raw.bytes.toString()).not.toContain('somebody else');
  expect(textsOf(pages)).toHaveLength(1);
});

test('a large document is streamed, with its bytes and its hash', async () => {
  const bytes = Buffer.alloc(20_000_000, 'medical data ');
  const large = document(2, { bytes });
  const gateway = await startGateway(
    holding([document(1), large, document(3)]),
  );
  const begun = await begin(gateway);
  if (begun.kind !== 'ready') throw new Error('not ready');
  const hash = createHash('sha1');
  const pages: SourcePage[] = [];
  for await (const page of begun.pages) {
    pages.push(page);
    for await (const chunk of page.largeAttachment?.chunks() ?? [])
      hash.update(chunk);
  }
  expect(hash.digest('hex')).toBe(
    createHash('sha1').update(bytes).digest('hex'),
  );
  expect(textsOf(pages)).toHaveLength(2);
  expect(gapsOf(pages).concat(warningsOf(pages))).toEqual([]);
  expect(pages.at(-1)?.next).toBeNull();
});

test('a large document whose entry does not say so is streamed as well', async () => {
  const bytes = Buffer.alloc(9_000_000, 'x');
  const gateway = await startGateway(
    holding([
      document(1),
      document(2, { bytes, listed: { size: undefined, hash: undefined } }),
    ]),
  );
  const begun = await begin(gateway);
  if (begun.kind !== 'ready') throw new Error('not ready');
  let largeBytes = 0;
  const texts: string[] = [];
  for await (const page of begun.pages) {
    texts.push(...textsOf([page]));
    for await (const chunk of page.largeAttachment?.chunks() ?? [])
      largeBytes += chunk.length;
  }
  expect(largeBytes).toBe(bytes.length);
  expect(texts).toHaveLength(1);
});

test('a list that cannot be had fails the query when no other community has one', async () => {
  const gateway = await startGateway({
    find: () => ({
      status: 'Failure',
      documents: [],
      faults: [{ code: 'XDSUnknownPatientId', context: '' }],
    }),
  });
  const failure = await failureOf(begin(gateway).then(collected));
  expect(failure.kind).toBe('job-failed');
});

test('a list that says that it is incomplete leaves a gap', async () => {
  const gateway = await startGateway({
    find: () => ({
      status: 'PartialSuccess',
      documents: documents(1),
      faults: [{ code: 'XDSUnavailableCommunity', context: '' }],
    }),
  });
  const pages = await collected(await begin(gateway));
  expect(gapsOf(pages)).toEqual([
    'a community says that its list of documents is incomplete (XDSUnavailableCommunity)',
  ]);
  expect(textsOf(pages)).toHaveLength(1);
});

/** Answers each message with this. */
function answering(
  status: number,
  body: string,
  contentType = 'text/html',
): Partial<GatewayBehaviour> {
  return {
    intercept: (_envelope, response) => {
      response.writeHead(status, { 'content-type': contentType });
      response.end(body);
      return true;
    },
  };
}
