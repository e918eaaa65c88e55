import { sql } from 'kysely';
import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { contributionFeature } from '../../src/exchange/delivery/contribution/feature.ts';
import { placeLegalHold } from '../../src/exchange/people/patients/legal-hold-store.ts';
import { noteIncomplete } from '../../src/exchange/queries/network-query/timeline-store.ts';
import { createCcdaConverter } from '../../src/exchange/records/conversion/ccda-converter.ts';
import { createRecordKeeper } from '../../src/exchange/records/record-keeper.ts';
import { ccdaOf, SNOMED, section, TEMPLATE } from '../support/ccda-sections.ts';
import {
  createTestGateway,
  newPerson,
  type TestAccount,
  type TestGateway,
} from '../support/gateway.ts';
import { takeUp } from '../support/take-up.ts';
import { withholdLabels } from '../support/withhold.ts';

let gateway: TestGateway;
let account: TestAccount;
beforeAll(async () => {
  gateway = await createTestGateway();
  account = await gateway.addAccount();
});
afterAll(() => gateway.close());

const call = async (method: string, path: string, body?: unknown) => {
  const response = await account.call(method as 'GET', path, body as object);
  return response.body === '' ? {} : response.json();
};
const newPatient = async (): Promise<string> =>
  (await call('POST', `patient?facilityId=${account.facilityId}`, newPerson()))
    .id;
const condition = (text: string, change: object = {}) => ({
  resourceType: 'Condition',
  id: 'c-1',
  code: { text },
  ...change,
});
const bundleOf = (...resources: object[]) => ({
  resourceType: 'Bundle',
  type: 'collection',
  entry: resources.map((resource) => ({ resource })),
});
const contribute = (id: string, ...resources: object[]) =>
  call('PUT', `patient/${id}/consolidated`, bundleOf(...resources));

interface Entry {
  resource: { resourceType: string; id: string; [member: string]: unknown };
}
const recordOf = async (
  id: string,
  type: string,
): Promise<Entry['resource'][]> => {
  const { entry = [] } = await call(
    'GET',
    `patient/${id}/consolidated?resources=${type}`,
  );
  return (entry as Entry[]).map(({ resource }) => resource);
};

test('a contribution is as new as it came, whatever time and version it claims', async () => {
  const id = await newPatient();
  const claimed = {
    lastUpdated: '2099-01-01T00:00:00Z',
    versionId: '99',
    profile: ['http://example.org/own'],
  };
  await contribute(id, condition('Gout', { meta: claimed }));
  await contribute(id, condition('Gout, corrected'));
  const [only, ...others] = await recordOf(id, 'Condition');
  expect(others).toEqual([]);
  expect(only?.code).toEqual({ text: 'Gout, corrected' });
});

test('what is contributed is in the record at once, about its patient and marked as contributed', async () => {
  const id = await newPatient();
  const answer = await contribute(
    id,
    condition('Gout'),
    { resourceType: 'Practitioner', id: 'p-1', name: [{ family: 'Lee' }] },
    {
      ...condition('Asthma'),
      id: 'c-2',
      asserter: { reference: 'Practitioner/p-1' },
    },
  );

  expect(answer).toMatchObject({
    resourceType: 'Bundle',
    type: 'transaction-response',
  });
  expect(
    answer.entry.map(({ response }: { response: object }) => response),
  ).toMatchObject([
    {
      status: '201 Created',
      location: 'Condition/c-1/_history/1',
      outcome: { resourceType: 'OperationOutcome' },
    },
    { status: '201 Created', location: 'Practitioner/p-1/_history/1' },
    { status: '201 Created', location: 'Condition/c-2/_history/1' },
  ]);
  const [practitioner] = await recordOf(id, 'Practitioner');
  const conditions = await recordOf(id, 'Condition');
  expect(conditions.map(({ subject }) => subject)).toEqual(
    [1, 2].map(() => ({ reference: `Patient/${id}` })),
  );
  expect(conditions.map(({ asserter }) => asserter)).toContainEqual({
    reference: `Practitioner/${practitioner?.id}`,
  });
  const { origins } = await call(
    'GET',
    `patient/${id}/record/${conditions[0]?.id}/origins`,
  );
  expect(origins).toMatchObject([
    {
      source: 'contribution',
      fileName: expect.stringMatching(/^contribution-/),
    },
  ]);
});

test('a contribution does not count as a source that answered', async () => {
  const id = await newPatient();
  await contribute(id, condition('Gout'));

  const { meta } = await call('GET', `patient/${id}/consolidated`);

  expect(meta.tag[0]).toMatchObject({
    code: 'incomplete',
    display: expect.stringContaining('no source'),
  });
  const contributed = meta.extension.find(
    ({ extension }: { extension: { valueCode?: string }[] }) =>
      extension[0]?.valueCode === 'contribution',
  );
  expect(contributed.extension.map(({ url }: { url: string }) => url)).toEqual([
    'source',
    'resources',
    'documents',
  ]);
});

test('contributed twice, it is there once; changed, it is its newest version', async () => {
  const id = await newPatient();
  const first = await contribute(id, condition('Gout'), {
    resourceType: 'Condition',
    code: { text: 'Mumps' },
  });
  const again = await contribute(id, condition('Gout'), {
    resourceType: 'Condition',
    code: { text: 'Mumps' },
  });
  const changed = await contribute(id, condition('Gout of the left foot'));

  const locations = ({ entry }: typeof first) =>
    entry.map(
      ({ response }: { response: { location: string } }) => response.location,
    );
  expect(locations(again)).toEqual(locations(first));
  expect(again.entry[0].response.status).toBe('200 OK');
  expect(locations(changed)).toEqual(['Condition/c-1/_history/2']);
  const { contributions } = await call('GET', `patient/${id}/contribution`);
  expect(contributions.map(({ id: each }: { id: string }) => each)).toEqual([
    changed.id,
    first.id,
  ]);
  const texts = (await recordOf(id, 'Condition')).map(
    ({ code }) => (code as { text: string }).text,
  );
  expect(texts.sort()).toEqual(['Gout of the left foot', 'Mumps']);
});

test('removed, a contribution is gone, and what it had replaced counts again', async () => {
  const id = await newPatient();
  const first = await contribute(id, condition('Gout'));
  const second = await contribute(id, condition('Gout of the left foot'), {
    ...condition('Mumps'),
    id: 'c-2',
  });
  await recordOf(id, 'Condition');

  await call('DELETE', `patient/${id}/contribution/${second.id}`);
  expect((await recordOf(id, 'Condition')).map(({ code }) => code)).toEqual([
    { text: 'Gout' },
  ]);
  await call('DELETE', `patient/${id}/contribution/${first.id}`);
  expect(await recordOf(id, 'Condition')).toEqual([]);
  expect(
    (await call('GET', `patient/${id}/contribution`)).contributions,
  ).toEqual([]);
});

test('what two contributions state stays when one of them is removed', async () => {
  const id = await newPatient();
  const first = await contribute(id, condition('Gout'));
  await contribute(id, condition('Gout'), { ...condition('Mumps'), id: 'c-2' });

  await call('DELETE', `patient/${id}/contribution/${first.id}`);

  expect(await recordOf(id, 'Condition')).toHaveLength(2);
});

const contributePotassium = (id: string, written: string) =>
  gateway.app.inject({
    method: 'PUT',
    url: `/medical/v1/patient/${id}/consolidated`,
    headers: {
      'x-api-key': account.apiKey,
      'content-type': 'application/fhir+json',
    },
    payload: JSON.stringify(
      bundleOf({
        resourceType: 'Observation',
        id: 'o-1',
        status: 'final',
        code: { text: 'Potassium' },
        valueQuantity: { value: 0, unit: 'mmol/L' },
      }),
    ).replace('"value":0', `"value":${written}`),
  });

test('a number that nobody can store is refused with its place', async () => {
  const response = await contributePotassium(await newPatient(), '1e400');
  expect(response.statusCode).toBe(400);
  expect(response.json().errors).toEqual([
    {
      path: 'entry[0].resource.valueQuantity.value',
      message: 'is a number that is too large to be stored',
    },
  ]);
});

test('decimals stay as they were written', async () => {
  const id = await newPatient();
  await contributePotassium(id, '5.00');

  const { body } = await account.call(
    'GET',
    `patient/${id}/consolidated?resources=Observation`,
  );

  expect(body).toContain('"value":5.00');
});

test('nothing of a contribution with one mistake is stored', async () => {
  const id = await newPatient();
  const response = await account.call(
    'PUT',
    `patient/${id}/consolidated`,
    bundleOf(condition('Gout'), {
      ...condition('Mumps'),
      id: 'c-2',
      subject: { reference: 'Patient/1' },
    }),
  );

  expect(response.statusCode).toBe(400);
  expect(response.json().errors).toEqual([
    {
      path: 'entry[1].resource',
      message: `names another patient: it must refer to Patient/${id}`,
    },
  ]);
  expect(await recordOf(id, 'Condition')).toEqual([]);
});

test('references to entries of the Bundle by fullUrl are followed', async () => {
  const id = await newPatient();
  const organization = 'urn:uuid:0b7b9c1e-2b57-4dc5-8d6e-6f3a9a8f1c11';
  await call('PUT', `patient/${id}/consolidated`, {
    resourceType: 'Bundle',
    type: 'collection',
    entry: [
      {
        fullUrl: organization,
        resource: { resourceType: 'Organization', name: 'Lakeside' },
      },
      {
        resource: {
          resourceType: 'Encounter',
          status: 'finished',
          class: { code: 'AMB' },
          serviceProvider: { reference: organization },
        },
      },
    ],
  });

  const [place] = await recordOf(id, 'Organization');
  const [encounter] = await recordOf(id, 'Encounter');
  expect(encounter?.serviceProvider).toMatchObject({
    reference: `Organization/${place?.id}`,
  });
});

test('a file within a DocumentReference becomes a document, and goes with its contribution', async () => {
  const id = await newPatient();
  const { id: contributionId } = await contribute(id, {
    resourceType: 'DocumentReference',
    id: 'd-1',
    status: 'current',
    description: 'Letter',
    content: [
      {
        attachment: {
          contentType: 'text/plain',
          data: Buffer.from('Dear all').toString('base64'),
        },
      },
    ],
  });

  const { documents } = await call(
    'GET',
    `document?patientId=${id}&output=dto`,
  );
  expect(documents).toMatchObject([
    { source: 'contribution', size: 8, mimeType: 'text/plain' },
  ]);
  const { url } = await call(
    'GET',
    `document/download-url?fileName=${documents[0].fileName}`,
  );
  const file = await gateway.app.inject({
    method: 'GET',
    url: new URL(url).pathname,
  });
  expect(file.body).toBe('Dear all');

  await call('DELETE', `patient/${id}/contribution/${contributionId}`);
  expect((await call('GET', `document?patientId=${id}`)).documents).toEqual([]);
});

test('a contribution beyond its size is refused with 413', async () => {
  const id = await newPatient();
  const response = await account.call(
    'PUT',
    `patient/${id}/consolidated`,
    bundleOf(condition('x'.repeat(5_000_001))),
  );
  expect(response.statusCode).toBe(413);
});

const LETTER = {
  description: 'Letter',
  type: { text: 'Letter' },
  context: { period: { start: '2026-11-20' } },
};
const upload = (
  uploadUrl: string,
  payload: string | Buffer,
  type = 'text/plain',
) =>
  gateway.app.inject({
    method: 'PUT',
    url: new URL(uploadUrl).pathname,
    headers: { 'content-type': type },
    payload,
  });

test('a contributed document is in the record with its file, not before', async () => {
  const id = await newPatient();
  // As the published client writes the address.
  const response = await account.call(
    'POST',
    `document/upload/?patientId=${id}`,
    {
      ...LETTER,
      subject: { reference: 'Patient/another' },
    },
  );
  const { documentReferenceId, uploadUrl } = response.json();
  expect(await recordOf(id, 'DocumentReference')).toEqual([]);
  expect(
    (await call('GET', `patient/${id}/contribution`)).contributions,
  ).toMatchObject([
    { kind: 'document', status: 'awaiting-upload', resources: 0 },
  ]);

  expect((await upload(uploadUrl, 'Dear all')).statusCode).toBe(200);

  const [reference] = await recordOf(id, 'DocumentReference');
  expect(reference).toMatchObject({
    description: 'Letter',
    subject: { reference: `Patient/${id}` },
    content: [
      {
        attachment: {
          contentType: 'text/plain',
          size: 8,
          url: expect.stringContaining('Binary/'),
        },
      },
    ],
  });
  const { documents } = await call(
    'GET',
    `document?patientId=${id}&output=dto`,
  );
  expect(documents).toMatchObject([
    { source: 'contribution', description: 'Letter' },
  ]);
  const { origins } = await call(
    'GET',
    `patient/${id}/record/${reference?.id}/origins`,
  );
  expect(origins).toMatchObject([
    { source: 'contribution', sourceId: documentReferenceId },
  ]);
});

test('a document has one file: sent again it is known, and another one is refused', async () => {
  const id = await newPatient();
  const { uploadUrl } = await call(
    'POST',
    `document/upload?patientId=${id}`,
    LETTER,
  );
  await upload(uploadUrl, 'Dear all');
  const blobs = await gateway.blobCount();

  expect((await upload(uploadUrl, 'Dear all')).statusCode).toBe(200);
  expect((await upload(uploadUrl, 'Dear others')).statusCode).toBe(409);

  expect(
    (await call('GET', `document?patientId=${id}`)).documents,
  ).toHaveLength(1);
  expect(await gateway.blobCount()).toBe(blobs);
});

test('a contributed document is removed with its file, and its link leads nowhere', async () => {
  const id = await newPatient();
  const { uploadUrl } = await call(
    'POST',
    `document/upload?patientId=${id}`,
    LETTER,
  );
  await upload(uploadUrl, 'Dear all');
  const { contributions } = await call('GET', `patient/${id}/contribution`);

  await call('DELETE', `patient/${id}/contribution/${contributions[0].id}`);

  expect((await call('GET', `document?patientId=${id}`)).documents).toEqual([]);
  expect((await upload(uploadUrl, 'Dear all')).statusCode).toBe(404);
});

test('a file that is too large is refused with 413, and a forged link with 404', async () => {
  const id = await newPatient();
  const { uploadUrl } = await call(
    'POST',
    `document/upload?patientId=${id}`,
    LETTER,
  );

  expect((await upload(uploadUrl, Buffer.alloc(50_000_001))).statusCode).toBe(
    413,
  );
  expect(
    (await upload(`${uploadUrl.slice(0, -2)}xx`, 'Dear all')).statusCode,
  ).toBe(404);
  expect(
    (await call('GET', `patient/${id}/contribution`)).contributions[0].status,
  ).toBe('awaiting-upload');
});

test('what was contributed is erased with its patient', async () => {
  await gateway.erasures.drain();
  const blobs = await gateway.blobCount();
  const id = await newPatient();
  await contribute(id, condition('Gout'));
  const { uploadUrl } = await call(
    'POST',
    `document/upload?patientId=${id}`,
    LETTER,
  );
  await upload(uploadUrl, 'Dear all');

  await call('DELETE', `patient/${id}`);
  await gateway.erasures.drain();

  expect(await gateway.blobCount()).toBe(blobs);
  const { rows } = await gateway.store.asSystem((tx) =>
    sql<{
      left: number;
    }>`select count(*)::int as left from contribution where patient_id = ${id}`.execute(
      tx.db,
    ),
  );
  expect(rows).toEqual([{ left: 0 }]);
});

/** What a worker does afterwards, each once. */
async function recover(): Promise<number[]> {
  const { store, blobs } = gateway;
  const records = createRecordKeeper({
    store,
    blobs,
    converter: createCcdaConverter(),
    noteIncomplete,
  });
  const { recoveries } = contributionFeature.open({ store, records });
  const healed: number[] = [];
  for (const recovery of recoveries) healed.push(await takeUp(recovery));
  return healed;
}

const PROBLEM = (
  code: string,
  text: string,
) => `<entry><act classCode="ACT" moodCode="EVN">
  <templateId root="${TEMPLATE}4.3"/><code code="CONC" codeSystem="2.16.840.1.113883.5.6"/><statusCode code="active"/>
  <effectiveTime><low value="20240101"/></effectiveTime><entryRelationship typeCode="SUBJ"><observation classCode="OBS" moodCode="EVN">
  <templateId root="${TEMPLATE}4.4"/><code code="55607006" ${SNOMED}/><statusCode code="completed"/>
  <effectiveTime><low value="20240101"/></effectiveTime>
  <value xsi:type="CD" code="${code}" ${SNOMED} displayName="${text}"/></observation></entryRelationship></act></entry>`;
const problems = (level: string, code: string, text: string) =>
  section(
    `${TEMPLATE}2.5.1`,
    '11450-4',
    `<confidentialityCode code="${level}"/>${PROBLEM(code, text)}`,
  );

/** The id of the person whom the documents of `ccdaOf` are about. */
async function createAnn(): Promise<string> {
  const ann = {
    ...newPerson(),
    firstName: 'Ann',
    lastName: 'Example',
    dob: '1970-01-02',
    genderAtBirth: 'F',
  };
  return (await call('POST', `patient?facilityId=${account.facilityId}`, ann))
    .id;
}

test('a contributed C-CDA document is read into the record afterwards, and its confidentiality is obeyed', async () => {
  const id = await createAnn();
  const { uploadUrl } = await call(
    'POST',
    `document/upload?patientId=${id}`,
    LETTER,
  );
  await upload(
    uploadUrl,
    ccdaOf(
      problems('N', '90560007', 'Gout'),
      problems('R', '66590003', 'Alcoholism'),
    ),
    'application/xml',
  );
  expect(await recordOf(id, 'Condition')).toEqual([]);

  expect((await recover())[0]).toBeGreaterThan(0);

  const texts = async () => JSON.stringify(await recordOf(id, 'Condition'));
  expect(await texts()).toMatch(/Alcoholism.*Gout|Gout.*Alcoholism/);
  expect((await recover())[0]).toBe(0);
  await withholdLabels(gateway.store, account.accountId, ['R']);
  expect(await texts()).toContain('Gout');
  expect(await texts()).not.toContain('Alcoholism');
  expect((await call('GET', `document?patientId=${id}`)).documents).toEqual([]);
  await withholdLabels(gateway.store, account.accountId, []);

  const { contributions } = await call('GET', `patient/${id}/contribution`);
  await call('DELETE', `patient/${id}/contribution/${contributions[0].id}`);
  expect(await recordOf(id, 'Condition')).toEqual([]);
});

test('a contributed file that may be a C-CDA document of any media type is withheld until it has been read', async () => {
  const id = await createAnn();
  const ccda = ccdaOf(problems('R', '66590003', 'Alcoholism'));
  for (const [content, type] of [
    [ccda, 'application/octet-stream'],
    ['Dear colleague', 'text/plain'],
  ] as const) {
    const { uploadUrl } = await call(
      'POST',
      `document/upload?patientId=${id}`,
      LETTER,
    );
    await upload(uploadUrl, content, type);
  }
  const types = async () =>
    (await call('GET', `document?patientId=${id}`)).documents.map(
      ({ content }: { content: { attachment: { contentType: string } }[] }) =>
        content[0]?.attachment.contentType,
    );
  expect((await types()).sort()).toEqual([
    'application/octet-stream',
    'text/plain',
  ]);
  await withholdLabels(gateway.store, account.accountId, ['R']);
  expect(await types()).toEqual([]);
  await recover();
  expect(await types()).toEqual(['text/plain']);
  await withholdLabels(gateway.store, account.accountId, []);
});

test('what is contributed with a withheld label is shown to no reader of the record until the policy is lifted', async () => {
  const id = await newPatient();
  const security = [
    { system: 'http://terminology.hl7.org/CodeSystem/v3-ActCode', code: 'ETH' },
  ];
  await contribute(id, condition('Gout'), {
    ...condition('Alcoholism'),
    id: 'c-2',
    meta: { security },
  });

  await withholdLabels(gateway.store, account.accountId, ['ETH']);
  const { body } = await account.call('GET', `patient/${id}/consolidated`);
  expect(body).toContain('Gout');
  expect(body).not.toContain('Alcoholism');
  expect(body).toContain('REDACTED');
  await withholdLabels(gateway.store, account.accountId, []);
  expect(
    (await account.call('GET', `patient/${id}/consolidated`)).body,
  ).toContain('Alcoholism');
});

test('a document that never arrives is shown as such, and forgotten after a week', async () => {
  const id = await newPatient();
  const { uploadUrl } = await call(
    'POST',
    `document/upload?patientId=${id}`,
    LETTER,
  );
  const age = (text: string) =>
    gateway.store.asAccount(account.accountId, (tx) =>
      sql`update contribution set created_at = now() - ${text}::interval where patient_id = ${id}`.execute(
        tx.db,
      ),
    );
  const states = async () =>
    (await call('GET', `patient/${id}/contribution`)).contributions.map(
      ({ status }: { status: string }) => status,
    );

  await age('119 minutes');
  expect(await states()).toEqual(['awaiting-upload']);
  await age('121 minutes');
  expect(await states()).toEqual(['never-arrived']);
  await age('6 days 23 hours');
  expect((await recover())[1]).toBe(0);
  await age('7 days 1 hour');
  expect((await recover())[1]).toBe(1);
  expect(await states()).toEqual([]);
  expect((await upload(uploadUrl, 'Dear all')).statusCode).toBe(404);
});

test('what arrived is never forgotten by its age', async () => {
  const id = await newPatient();
  const { uploadUrl } = await call(
    'POST',
    `document/upload?patientId=${id}`,
    LETTER,
  );
  await upload(uploadUrl, 'Dear all');
  await gateway.store.asAccount(account.accountId, (tx) =>
    sql`update contribution set created_at = now() - interval '1 year' where patient_id = ${id}`.execute(
      tx.db,
    ),
  );
  await recover();
  expect(
    (await call('GET', `document?patientId=${id}`)).documents,
  ).toHaveLength(1);
});

test('under legal hold nothing is removed', async () => {
  const id = await newPatient();
  const { id: contributionId } = await contribute(id, condition('Gout'));
  await gateway.store.asSystem((tx) =>
    placeLegalHold(tx, {
      accountId: account.accountId,
      patientId: id,
      by: 'test',
      reason: uuidv7(),
    }),
  );

  const response = await account.call(
    'DELETE',
    `patient/${id}/contribution/${contributionId}`,
  );

  expect(response.statusCode).toBe(409);
  expect(response.json().detail).toContain('legal hold');
  expect(await recordOf(id, 'Condition')).toHaveLength(1);
});

test('an object with a member twice is refused, instead of losing the first', async () => {
  const id = await newPatient();
  const send = (resource: string) =>
    gateway.app.inject({
      method: 'PUT',
      url: `/medical/v1/patient/${id}/consolidated`,
      headers: {
        'x-api-key': account.apiKey,
        'content-type': 'application/fhir+json',
      },
      payload: `{"resourceType":"Bundle","type":"collection","entry":[{"resource":${resource}}]}`,
    });
  const twice = await send(
    '{"resourceType":"Condition","id":"a","code":{"text":"Gout"},"code":{"text":"Mumps"}}',
  );
  expect(twice.statusCode).toBe(400);
  expect(twice.json().detail).toContain('names an element twice');
  const once = await send(
    '{"resourceType":"Condition","id":"a","code":{"text":"\\"a\\": \\\\: {\\"code\\":1}"}}',
  );
  expect(once.statusCode, once.body).toBe(200);
  expect(await recordOf(id, 'Condition')).toMatchObject([
    { code: { text: '"a": \\: {"code":1}' } },
  ]);
});

test('an empty file is refused, and its address stays', async () => {
  const id = await newPatient();
  const { uploadUrl } = await call(
    'POST',
    `document/upload?patientId=${id}`,
    LETTER,
  );
  expect((await upload(uploadUrl, '')).statusCode).toBe(400);
  expect((await upload(uploadUrl, 'Dear all')).statusCode).toBe(200);
});

test('a description that is not FHIR is refused with what is wrong', async () => {
  const id = await newPatient();
  const response = await account.call(
    'POST',
    `document/upload?patientId=${id}`,
    {
      ...LETTER,
      type: { txt: 'Letter' },
    },
  );
  expect(response.json().detail).toMatch(
    /^DocumentReference\.type\.txt is missing or not as FHIR R4/,
  );
});
