import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { sql } from 'kysely';
import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { signAccessToken } from '../../src/exchange/access/fhir-clients/access-token.ts';
import { insertClient } from '../../src/exchange/access/fhir-clients/client-store.ts';
import {
  deliveredIn,
  insertDocuments,
  insertSourcePatientIds,
  upsertResources,
} from '../../src/exchange/records/deliveries/delivery-store.ts';
import {
  createTestGateway,
  newPerson,
  TEST_INTERNAL_KEY,
  type TestAccount,
  type TestGateway,
  withSsn,
} from '../support/gateway.ts';
import { property } from '../support/property.ts';
import { withholdLabels } from '../support/withhold.ts';
import { consentBody } from './every-operation/cases/consents.ts';

/** In all that is retrieved from others, and in nothing that is contributed. */
const MARK = 'retrieved-from-others';
const FROM = ['hie', 'pharmacy', 'lab', 'message'] as const;

let gateway: TestGateway;
let account: TestAccount;
let network: Record<string, string>;
beforeAll(async () => {
  gateway = await createTestGateway();
  const settings = { sources: {}, limits: { requestsPerMinute: 1_000_000 } };
  account = await gateway.addAccount({ settings });
  network = await networkOf(account);
});
afterAll(() => gateway.close());

async function networkOf({
  accountId,
}: TestAccount): Promise<Record<string, string>> {
  const id = uuidv7();
  const scopes = ['system/*.rs'];
  const keys = { jwks: { keys: [] } };
  await gateway.store.asSystem((tx) =>
    insertClient(tx, {
      id,
      accountId,
      label: 'The network',
      keys,
      scopes,
      isNetwork: true,
    }),
  );
  const token = await signAccessToken(TEST_INTERNAL_KEY, {
    clientId: id,
    accountId,
    scopes,
  });
  return { authorization: `Bearer ${token}` };
}

type Person = ReturnType<typeof newPerson>;
const asks = (path: string, payload?: object, headers = network) =>
  gateway.app.inject({
    method: payload === undefined ? 'GET' : 'POST',
    url: path.startsWith('/') ? path : `/fhir/responder/${path}`,
    headers: {
      ...headers,
      ...(payload && { 'content-type': 'application/fhir+json' }),
    },
    payload,
  });
async function newPatient(person: Person = newPerson()): Promise<string> {
  return (
    await account.call(
      'POST',
      `patient?facilityId=${account.facilityId}`,
      person,
    )
  ).json().id;
}
async function contribute(id: string, ...resources: object[]): Promise<string> {
  const entry = resources.map((resource) => ({ resource }));
  const body = { resourceType: 'Bundle', type: 'collection', entry };
  const response = await account.call(
    'PUT',
    `patient/${id}/consolidated`,
    body,
  );
  expect(response.statusCode, response.body).toBe(200);
  return response.json().id;
}

/** As a query or a message brings it: resources, and a file of one of them. */
async function retrieve(
  id: string,
  source: (typeof FROM)[number],
  resources: readonly object[],
) {
  const { accountId } = account;
  const page = uuidv7();
  const file = uuidv7();
  const blob = await gateway.blobs.put(
    'document',
    Buffer.from(MARK),
    'text/plain',
  );
  const common = {
    patientId: id,
    queryId: uuidv7(),
    source,
    sizeBytes: blob.sizeBytes,
    blobRef: blob.ref,
  };
  const sha256 = createHash('sha256').update(page).digest();
  const fileName = `${MARK}-${page}.json`;
  await gateway.store.asAccount(accountId, async (tx) => {
    await insertDocuments(tx, [
      {
        ...common,
        id: page,
        kind: 'page',
        fileName,
        contentType: 'application/fhir+json',
        sha256,
      },
      {
        ...common,
        id: file,
        kind: 'attachment',
        fileName: `${MARK}-${file}.txt`,
        contentType: 'text/plain',
        sha256,
        sourceDocumentId: 'document',
      },
    ]);
    await insertSourcePatientIds(tx, id, source, ['theirs']);
    await upsertResources(
      tx,
      { patientId: id, source, documentId: page },
      resources.map((each) =>
        deliveredIn(fileName, each as { resourceType: string; id: string }),
      ),
    );
  });
  return file;
}

/**
 * Resources of one shape, contributed or retrieved; equal numbers are the same
 * thing, which the record unites.
 */
const resourceOf = (
  kind: number,
  number: number,
  { patient, note }: { patient: string; note?: string },
) => {
  const subject = { subject: { reference: `Patient/${patient}` } };
  const noted = note === undefined ? {} : { note: [{ text: note }] };
  const id = `${note === undefined ? 'ours' : 'theirs'}-${kind}-${number}`;
  const code = {
    coding: [{ system: 'http://loinc.org', code: `1234-${number}` }],
    text: `Thing ${number}`,
  };
  switch (kind) {
    case 0:
      return {
        resourceType: 'Condition',
        id,
        ...subject,
        code,
        onsetDateTime: '2024-05-01',
        ...noted,
      };
    case 1:
      return {
        resourceType: 'Observation',
        id,
        status: 'final',
        ...subject,
        code,
        ...noted,
        effectiveDateTime: '2024-05-01T10:00:00Z',
        valueQuantity: { value: number, unit: 'mg' },
        ...(note !== undefined && { method: { text: MARK } }),
      };
    case 2:
      return {
        resourceType: 'DocumentReference',
        id: note === undefined ? id : 'document',
        status: 'current',
        ...subject,
        description: note ?? 'Letter',
        type: { text: note ?? 'Letter' },
        content: [
          {
            attachment: { contentType: 'text/plain', title: note ?? 'Letter' },
          },
        ],
      };
    default:
      return {
        resourceType: 'Practitioner',
        id,
        name: [{ family: `Doctor${number}`, text: note }],
        identifier: [
          {
            system: 'http://hl7.org/fhir/sid/us-npi',
            value: `123456789${number}`,
          },
        ],
      };
  }
};

const TYPES = [
  'Condition',
  'Observation',
  'DocumentReference',
  'Practitioner',
  'Provenance',
  'Consent',
  'Patient',
];

/**
 * Every response of the door about a patient, and to what a caller could try
 * with ids of the whole record.
 */
async function allResponses(
  id: string,
  person: Person,
  tried: readonly (readonly [type: string, id: string])[],
): Promise<string[]> {
  const address = [person.address].flat()[0] as { zip: string };
  const described = {
    resourceType: 'Patient',
    birthDate: person.dob,
    gender: 'female',
    name: [{ family: person.lastName, given: [person.firstName] }],
    address: [{ postalCode: address.zip }],
  };
  const texts: string[] = [];
  const add = async (path: string, payload?: object) => {
    const { statusCode, body } = await asks(path, payload);
    // Times of the response, its cursors, and the numbers of requests differ
    // each time.
    const bare = body
      .replaceAll(/"timestamp":"[^"]*"/g, '')
      .replaceAll(/_page=[\w.-]+/g, '_page=')
      .replaceAll(/urn:uuid:[0-9a-f-]{36}/g, '');
    texts.push(
      `${path.replaceAll(/[0-9a-f-]{36}/g, 'id')} ${statusCode} ${bare}`,
    );
  };
  await add('Patient/$match', described);
  await add(`Patient/${id}`);
  await add(`Patient/${id}/$everything`);
  await add(`Patient/${id}/$everything?_count=1`);
  await add(
    `Patient/${id}/$everything?start=2024-01-01&_since=2020-01-01T00:00:00Z`,
  );
  for (const type of TYPES) {
    await add(`${type}?patient=${id}&_include=*&_revinclude=Provenance:target`);
    await add(`${type}?patient=${id}&_summary=count`);
    await add(`${type}?patient=${id}&_sort=-_lastUpdated&_count=1`);
  }
  await add(`Observation?patient=${id}&code=http://loinc.org|1234-1`);
  await add(`Patient?family=${person.lastName}&birthdate=${person.dob}`);
  for (const [index, [type, each]] of tried.entries()) {
    await add(`Binary/${each}`);
    await add(`${type}/${each}`);
    await add(`${type}?_id=${each}`);
    await add(`${TYPES[index % TYPES.length]}/${each}`);
  }
  return texts;
}

const things = fc.uniqueArray(
  fc.tuple(fc.integer({ min: 0, max: 3 }), fc.integer({ min: 1, max: 3 })),
  {
    selector: ([kind, number]) => `${kind} ${number}`,
    maxLength: 6,
  },
);

property(
  [
    things.filter(({ length }) => length > 0),
    things,
    fc.subarray([...FROM], { minLength: 1 }),
  ],
  {
    numRuns: 5,
  },
)(
  'what was retrieved from others changes no response to a network',
  async (ours, theirs, sources) => {
    const person = { ...newPerson(), genderAtBirth: 'F' };
    const id = await newPatient(person);
    await contribute(
      id,
      ...ours.map(([kind, number]) =>
        resourceOf(kind, number, { patient: id }),
      ),
    );
    const before = await allResponses(id, person, []);
    expect(before[0]).toContain('"certain"');

    const files: string[] = [];
    for (const source of sources) {
      const resources = theirs
        .filter(([kind]) => kind !== 2)
        .map(([kind, number]) =>
          resourceOf(kind, number, { patient: 'theirs', note: MARK }),
        );
      const patient = {
        resourceType: 'Patient',
        id: 'theirs',
        name: [{ family: MARK }],
      };
      files.push(
        await retrieve(id, source, [
          patient,
          resourceOf(2, 1, { patient: 'theirs', note: MARK }),
          ...resources,
        ]),
      );
    }
    const whole = (
      await asks(`/fhir/R4/Patient/${id}/$everything`, undefined, {
        'x-api-key': account.apiKey,
      })
    ).json();
    const ids = (
      whole.entry as { resource: { resourceType: string; id: string } }[]
    )
      .map(({ resource }) => [resource.resourceType, resource.id] as const)
      .filter(([, each]) => each !== id);

    expect(JSON.stringify(whole)).toContain(MARK);
    const all = await allResponses(id, person, [
      ...files.map((file) => ['DocumentReference', file] as const),
      ...ids,
    ]);
    expect(all.slice(0, before.length)).toEqual(before);
    const tried = all.slice(before.length);
    expect(tried.join('\n')).not.toContain(MARK);
    const found = tried.filter(
      (text) => /^\S+ 200/.test(text) && /"resource"/.test(text),
    );
    expect(found).toEqual([]);
  },
);

test('a network is given what was contributed: the patient, the resources, the document and its file', async () => {
  const id = await newPatient();
  await contribute(id, resourceOf(0, 1, { patient: id }), {
    ...resourceOf(2, 1, { patient: id }),
    content: [
      {
        attachment: {
          contentType: 'text/plain',
          data: Buffer.from('Dear all').toString('base64'),
        },
      },
    ],
  });

  const bundle = (await asks(`Patient/${id}/$everything`)).json();
  const types = bundle.entry.map(
    ({ resource }: { resource: { resourceType: string } }) =>
      resource.resourceType,
  );
  expect(types).toEqual([
    'Patient',
    'Condition',
    'Provenance',
    'DocumentReference',
    'Provenance',
  ]);
  const { entry } = (await asks(`DocumentReference?patient=${id}`)).json();
  const file = await asks(
    new URL(entry[0].resource.content[0].attachment.url).pathname,
  );
  expect(file.body).toBe('Dear all');
});

test('of whom nothing was contributed, a network learns nothing, not even that the patient is known', async () => {
  const id = await newPatient();
  await retrieve(id, 'hie', [
    resourceOf(0, 1, { patient: 'theirs', note: MARK }),
  ]);

  for (const path of [
    `Patient/${id}`,
    `Patient/${id}/$everything`,
    `Condition?patient=${id}`,
  ])
    expect((await asks(path)).statusCode).toBe(404);
});

test('a patient who opted out of the exchange with networks is unknown to them', async () => {
  const id = await newPatient();
  await contribute(id, resourceOf(0, 1, { patient: id }));
  expect((await asks(`Patient/${id}`)).statusCode).toBe(200);

  await account.call('PUT', `patient/${id}/hie-opt-out?hieOptOut=true`);

  expect((await asks(`Patient/${id}`)).statusCode).toBe(404);
  expect((await asks(`Condition?patient=${id}`)).statusCode).toBe(404);
});

const CUSTODIAN = {
  system: 'http://terminology.hl7.org/CodeSystem/v3-ParticipationType',
  code: 'CST',
};
/** The description of a person as a network sends it. */
const describedAs = (person: Person, changes: object = {}) => {
  const address = [person.address].flat()[0] as { zip: string };
  return {
    resourceType: 'Patient',
    birthDate: person.dob,
    gender: 'female',
    name: [{ family: person.lastName, given: [person.firstName] }],
    address: [{ postalCode: address.zip }],
    ...changes,
  };
};

test('a patient whose consent denies the exchange with networks is unknown to them while it is in force', async () => {
  const person = { ...newPerson(), genderAtBirth: 'F' };
  const id = await newPatient(person);
  await contribute(id, resourceOf(0, 1, { patient: id }), {
    ...resourceOf(2, 1, { patient: id }),
    content: [
      {
        attachment: {
          contentType: 'text/plain',
          data: Buffer.from('Dear all').toString('base64'),
        },
      },
    ],
  });
  const [reference] = (await asks(`DocumentReference?patient=${id}`)).json()
    .entry;
  const file = new URL(reference.resource.content[0].attachment.url).pathname;
  const statuses = async () => [
    (await asks(`Patient/${id}`)).statusCode,
    (await asks(`Patient/${id}/$everything`)).statusCode,
    (await asks(`Condition?patient=${id}`)).statusCode,
    (await asks(`DocumentReference/${reference.resource.id}`)).statusCode,
    (await asks(file)).statusCode,
    (await asks('Patient/$match', describedAs(person))).json().total,
  ];
  const open = [200, 200, 200, 200, 200, 1];
  const closed = [404, 404, 404, 404, 404, 0];
  const consent = async (provision: object): Promise<string> => {
    const response = await account.call(
      'POST',
      `patient/${id}/consent`,
      consentBody({ provision }),
    );
    expect(response.statusCode, response.body).toBe(201);
    return response.json().id;
  };
  const end = (consentId: string) =>
    account.call('POST', `patient/${id}/consent/${consentId}/end`);
  const hie = {
    actor: [
      {
        role: { coding: [CUSTODIAN] },
        reference: { identifier: { value: 'hie' } },
      },
    ],
  };
  const lab = {
    actor: [
      {
        role: { coding: [CUSTODIAN] },
        reference: { identifier: { value: 'lab' } },
      },
    ],
  };

  expect(await statuses()).toEqual(open);
  const all = await consent({ type: 'deny' });
  expect(await statuses()).toEqual(closed);
  // The account's own record does not change.
  expect(
    (await account.call('GET', `patient/${id}/consolidated/count`)).json()
      .resources.Condition,
  ).toBe(1);
  expect((await end(all)).statusCode).toBe(200);
  expect(await statuses()).toEqual(open);
  await consent({
    type: 'deny',
    period: { end: new Date(Date.now() - 86_400_000).toISOString() },
  });
  await consent({ type: 'deny', ...lab });
  expect(await statuses()).toEqual(open);
  await consent({ type: 'deny', ...hie });
  expect(await statuses()).toEqual(closed);
});

test('what carries a withheld label does not leave to a network, nor the file of a document that does', async () => {
  const id = await newPatient();
  const SECRET = 'zebra';
  const meta = {
    security: [
      {
        system: 'http://terminology.hl7.org/CodeSystem/v3-Confidentiality',
        code: 'R',
      },
    ],
  };
  const data = Buffer.from(SECRET).toString('base64');
  await contribute(
    id,
    resourceOf(0, 1, { patient: id }),
    { ...resourceOf(0, 2, { patient: id, note: SECRET }), meta },
    {
      ...resourceOf(2, 1, { patient: id }),
      id: 'labelled',
      description: SECRET,
      meta,
      content: [{ attachment: { contentType: 'text/plain', data } }],
    },
  );
  const [reference] = (await asks(`DocumentReference?patient=${id}`)).json()
    .entry;
  const file = new URL(reference.resource.content[0].attachment.url).pathname;
  expect((await asks(file)).body).toBe(SECRET);
  const all = async () =>
    (
      await Promise.all(
        [
          `Patient/${id}/$everything`,
          `Condition?patient=${id}`,
          `DocumentReference?patient=${id}`,
          `DocumentReference/${reference.resource.id}`,
          file,
        ].map((path) => asks(path)),
      )
    )
      .map(({ body }) => body)
      .join('\n');
  expect(await all()).toContain(SECRET);

  await withholdLabels(gateway.store, account.accountId, ['R']);
  const left = await all();
  await withholdLabels(gateway.store, account.accountId, []);

  expect(left).not.toContain(SECRET);
  expect(left).toContain('Thing 1');
});

test('social security numbers do not leave, neither ours nor contributed ones; other identifiers do', async () => {
  const person = {
    ...newPerson(),
    genderAtBirth: 'F',
    personalIdentifiers: [
      { type: 'ssn', value: '512345678' },
      { type: 'driversLicense', value: 'D7654321', state: 'CA' },
    ],
  };
  const id = await newPatient(person);
  const type = {
    coding: [
      { system: 'http://terminology.hl7.org/CodeSystem/v2-0203', code: 'SS' },
    ],
  };
  await contribute(id, {
    resourceType: 'Patient',
    id,
    identifier: [
      { system: 'http://hl7.org/fhir/sid/us-ssn', value: '512-34-5678' },
      { system: 'urn:oid:2.16.840.1.113883.4.1', value: '512345678' },
      { type, value: '512 34 5678' },
      { system: 'urn:example:mrn', value: 'MRN-9' },
    ],
  });

  const responses = await Promise.all(
    [`Patient/${id}`, `Patient/${id}/$everything`].map((path) => asks(path)),
  );
  const match = await asks('Patient/$match', describedAs(person));
  expect(match.json().total).toBe(1);
  for (const { body } of [...responses, match]) {
    expect(body).not.toMatch(/512[- ]?34[- ]?5678/);
    expect(body).toContain('MRN-9');
    expect(body).toContain('D7654321');
  }
});

test('no patient is matched in doubt', async () => {
  const person = { ...newPerson(), genderAtBirth: 'F' };
  const id = await newPatient(person);
  await contribute(id, resourceOf(0, 1, { patient: id }));
  const matched = async (changes: object) =>
    (await asks('Patient/$match', describedAs(person, changes))).json().total;

  expect(await matched({})).toBe(1);
  expect(await matched({ birthDate: '1950-01-01' })).toBe(0);
  expect(await matched({ gender: 'male' })).toBe(0);
  expect(await matched({ address: [{ postalCode: '99501' }] })).toBe(0);
});

test('of two patients who fit, or who have the same identifier, none is matched, at no door', async () => {
  const own = { 'x-api-key': account.apiKey };
  const ssn = { system: 'http://hl7.org/fhir/sid/us-ssn', value: '523456781' };
  const one = { ...newPerson(), genderAtBirth: 'F' };
  const twins = [0, 1].map((index) => ({
    ...one,
    address: [
      {
        addressLine1: '1 Main St',
        city: 'Boston',
        state: 'MA',
        zip: index === 0 ? '02116' : '99501',
      },
    ],
  }));
  const [first, second] = twins as [Person, Person];
  const ids = [await newPatient(first), await newPatient(second)];
  expect(new Set(ids).size).toBe(2);
  for (const id of ids) await contribute(id, resourceOf(0, 1, { patient: id }));
  const matches = async (described: object) => [
    (await asks('Patient/$match', described)).json(),
    (await asks('/fhir/R4/Patient/$match', described, own)).json(),
  ];
  const totals = async (described: object) =>
    (await matches(described)).map(({ total }) => total);
  const both = describedAs(first, {
    address: [{ postalCode: '02116' }, { postalCode: '99501' }],
  });

  expect(await totals(describedAs(first))).toEqual([1, 1]);
  const [toNetwork, toAccount] = await matches(both);
  expect([toNetwork.total, toAccount.total]).toEqual([0, 0]);
  expect(JSON.stringify(toAccount)).toContain('multiple-matches');
  // The response to a network does not show that there is such a patient.
  expect(JSON.stringify(toNetwork)).not.toContain('OperationOutcome');

  const holder = {
    ...newPerson(),
    personalIdentifiers: [{ type: 'ssn', value: ssn.value }],
  };
  await newPatient(holder);
  expect(await totals(describedAs(first, { identifier: [ssn] }))).toEqual([
    0, 0,
  ]);
  expect(
    await totals(
      describedAs(first, { identifier: [{ ...ssn, value: '523456782' }] }),
    ),
  ).toEqual([1, 1]);
});

test('of two patients of one description, whom another SSN keeps apart, none is matched without it, and each by it', async () => {
  const person = newPerson();
  const one = '534567812';
  const other = '645678923';
  for (const value of [one, other]) {
    const id = await newPatient(withSsn(person, value));
    await contribute(id, resourceOf(0, 1, { patient: id }));
  }
  const matched = async (...values: string[]) => {
    const identifier = values.map((value) => ({
      system: 'http://hl7.org/fhir/sid/us-ssn',
      value,
    }));
    const answer = (
      await asks('Patient/$match', describedAs(person, { identifier }))
    ).json();
    return [answer.total, answer.entry?.[0]?.resource.id];
  };
  const [total, first] = await matched(one);
  const [otherTotal, second] = await matched(other);
  expect([total, otherTotal, first === second]).toEqual([1, 1, false]);
  expect(await matched()).toEqual([0, undefined]);
  expect(await matched('756789134')).toEqual([0, undefined]);
});

test('a disclosure to a network is in the audit, under its client', async () => {
  const id = await newPatient();
  await contribute(id, resourceOf(0, 1, { patient: id }));
  await asks(`Patient/${id}/$everything`);

  const { rows } = await gateway.store
    .asAccount(account.accountId, (tx) =>
      sql<{ actor: string; operation: string; label: string }>`
      select actor, operation, (select label from fhir_client c where 'client:' || c.id = actor) as label
      from audit_entry where patient_id = ${id} and actor like 'client:%'`.execute(
        tx.db,
      ),
    )
    .catch(() => ({ rows: [] }));
  const entries = await gateway.store.asSystem((tx) =>
    sql<{ operation: string; label: string }>`
      select operation, label from audit_entry join fhir_client c on 'client:' || c.id = actor
      where patient_id = ${id}`.execute(tx.db),
  );
  expect(entries.rows).toEqual([
    { operation: 'fhirEverything', label: 'The network' },
  ]);
  expect(rows.length).toBeLessThan(2);
});

test('the token of a network opens nothing but the responder, and another account’s not even that', async () => {
  const id = await newPatient();
  await contribute(id, resourceOf(0, 1, { patient: id }));
  const other = await networkOf(await gateway.addAccount());

  for (const path of [
    `/fhir/R4/Patient/${id}`,
    `/fhir/R4/Patient/$export`,
    `/medical/v1/patient/${id}`,
  ])
    expect((await asks(path)).statusCode, path).toBe(403);
  expect((await asks(`Patient/${id}`, undefined, other)).statusCode).toBe(404);
});

test('the role of the responder reads its views, and no table of an account', async () => {
  const { rows } = await gateway.store.asSystem((tx) =>
    sql<{ name: string }>`
      select c.oid::regclass::text as name from pg_class c
      where c.relkind in ('r', 'v', 'm', 'p') and c.relnamespace in ('public'::regnamespace, 'responder'::regnamespace)
        and has_table_privilege('exchange_responder', c.oid, 'select,insert,update,delete') order by 1`.execute(
      tx.db,
    ),
  );
  expect(rows.map(({ name }) => name)).toEqual([
    'responder.consent',
    'responder.delivered_resource',
    'responder.document',
    'responder.document_conversion',
    'responder.merged_origin',
    'responder.merged_place',
    'responder.packed_place',
    'responder.patient',
    'responder.patient_at_source',
    'responder.patient_resource',
    'responder.record_origin',
    'responder.record_resource',
    'responder.recorded_subject',
    'responder.resource_pack',
    'responder.retired_resource',
    'sensitive_code',
  ]);
});
