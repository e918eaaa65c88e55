import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import type { Bundle } from 'fhir/r4.js';
import { sql } from 'kysely';
import { v7 as uuidv7 } from 'uuid';
import {
  afterAll,
  beforeAll,
  beforeEach,
  describe,
  expect,
  test,
} from 'vitest';
import { resourceFilter } from '../../src/exchange/delivery/bulk-export/rules/export-request.ts';
import { readExportOfPatient } from '../../src/exchange/delivery/bulk-export/run-export.ts';
import { createConsolidatedBuilder } from '../../src/exchange/delivery/consolidated-query/build.ts';
import { openConsolidatedQuery } from '../../src/exchange/delivery/consolidated-query/query-store.ts';
import { documentsOfPatient } from '../../src/exchange/messaging/messages/message-store.ts';
import { consentsFeature } from '../../src/exchange/people/consents/feature.ts';
import { labelCodes } from '../../src/exchange/records/reading/record-store.ts';
import { delivery, personOf, samples } from '../support/deliveries.ts';
import {
  createFhirDoor,
  type FhirDoor,
  idsIn,
  resourcesIn,
} from '../support/fhir-door.ts';
import { TEST_BASE_URL } from '../support/gateway.ts';
import { takeUp } from '../support/take-up.ts';
import { withholdLabels } from '../support/withhold.ts';
import { consentBody } from './every-operation/cases/consents.ts';

const [sample] = samples;
if (sample === undefined) throw new Error('there are no samples');
const person = personOf(sample);
const CONFIDENTIALITY =
  'http://terminology.hl7.org/CodeSystem/v3-Confidentiality';
const LOINC = 'http://loinc.org';

let door: FhirDoor;
let apiKey: string;
beforeAll(async () => {
  door = await createFhirDoor();
  apiKey = await door.addKey(door.accountId, ['read', 'write']);
});
afterAll(() => door.close());
beforeEach(() => withhold());

const withhold = (...labels: string[]) =>
  withholdLabels(door.store, door.accountId, labels);
const medical = (path: string) =>
  door.get(`${TEST_BASE_URL}/medical/v1/${path}`);
const labelled = (label: string | undefined) =>
  label === undefined
    ? {}
    : { meta: { security: [{ system: CONFIDENTIALITY, code: label }] } };

/** A word that no door may show when its resource is withheld. */
const secret = (index: number) => `zebra${index}x`;
const LABELS = ['N', 'R', 'V', 'ETH', 'ETHUD'] as const;
interface Given {
  type:
    | 'Condition'
    | 'Observation'
    | 'AllergyIntolerance'
    | 'DiagnosticReport'
    | 'MedicationRequest';
  label?: string;
  /** Another one of the record that it refers to, by its place. */
  refersTo: number;
}

function resourceOf(
  { type, label }: Given,
  index: number,
  target: { reference: string; display: string },
): object {
  const code = {
    text: secret(index),
    coding: [
      { system: LOINC, code: `${1000 + index}-1`, display: secret(index) },
    ],
  };
  const own = {
    resourceType: type,
    id: `r${index}`,
    ...labelled(label),
    text: {
      status: 'generated',
      div: `<div xmlns="http://www.w3.org/1999/xhtml">${secret(index)}</div>`,
    },
  };
  const subject = { reference: 'Patient/p' };
  switch (type) {
    case 'Condition':
      return {
        ...own,
        subject,
        code,
        evidence: [{ detail: [target] }],
        onsetDateTime: `2020-01-0${(index % 9) + 1}`,
      };
    case 'Observation':
      return {
        ...own,
        subject,
        status: 'final',
        code,
        hasMember: [target],
        effectiveDateTime: '2021-02-03',
      };
    case 'AllergyIntolerance':
      return {
        ...own,
        patient: subject,
        code,
        note: [{ text: secret(index) }],
        encounter: target,
      };
    case 'DiagnosticReport':
      return {
        ...own,
        subject,
        status: 'final',
        code,
        result: [target],
        conclusion: secret(index),
        effectiveDateTime: '2021-02-03',
      };
    case 'MedicationRequest':
      return {
        ...own,
        subject,
        status: 'active',
        intent: 'order',
        medicationCodeableConcept: code,
        reasonReference: [target],
        authoredOn: '2022-01-01',
      };
  }
}

async function recordOf(given: readonly Given[]): Promise<string> {
  const patientId = await door.addPatient(person);
  const resources = given.map((each, index) => {
    const to = each.refersTo % given.length;
    return resourceOf(each, index, {
      reference: `${given[to]?.type}/r${to}`,
      display: secret(to),
    });
  });
  await door.deliver(
    patientId,
    'hie',
    resources.map((each) => delivery('hie', each)),
    ['p'],
  );
  await door.records.merge(door.accountId, patientId);
  return patientId;
}

async function built(
  patientId: string,
  conversionType: 'json' | 'html' | 'pdf',
) {
  const requestId = uuidv7();
  await door.store.asAccount(door.accountId, (tx) =>
    openConsolidatedQuery(tx, requestId, patientId, { conversionType }),
  );
  const builder = createConsolidatedBuilder({
    ...door,
    publicBaseUrl: TEST_BASE_URL,
  });
  await builder.build({ accountId: door.accountId, requestId });
  const { result } = (
    await medical(`patient/${patientId}/consolidated/query/${requestId}`)
  ).json();
  return { result: String(result), text: (await door.get(result)).body };
}

/**
 * Everything that a caller can get of a record, by door; `ids` are those of the
 * resources as they are without a policy.
 */
async function allDoors(
  patientId: string,
  ids: ReadonlyMap<number, { type: string; id: string }>,
): Promise<Record<string, string>> {
  const exported: string[] = [];
  const member = { patientId, ordinal: 1, isWhole: true };
  for await (const page of readExportOfPatient(
    { ...door, publicBaseUrl: TEST_BASE_URL },
    {
      accountId: door.accountId,
      member,
      filter: resourceFilter(null, {}),
      since: null,
    },
    undefined,
  ))
    exported.push(JSON.stringify(page.lines));
  const types = [
    'Condition',
    'Observation',
    'AllergyIntolerance',
    'DiagnosticReport',
    'MedicationRequest',
    'Provenance',
  ];
  const searches = await Promise.all(
    types.map((type) =>
      type === 'Provenance'
        ? undefined
        : door.get(
            `${type}?patient=${patientId}&_include=*&_revinclude=Provenance:target`,
          ),
    ),
  );
  const byCode = await Promise.all(
    [...ids].map(([index, { type }]) =>
      door.get(`${type}?patient=${patientId}&code=${1000 + index}-1`),
    ),
  );
  const reads = await Promise.all(
    [...ids.values()].flatMap(({ type, id }) => [
      door.get(`${type}/${id}`),
      medical(`patient/${patientId}/consolidated/origins/${id}`),
    ]),
  );
  const bodies = (responses: readonly ({ body: string } | undefined)[]) =>
    responses.map((each) => each?.body ?? '').join('\n');
  return {
    consolidated: (await medical(`patient/${patientId}/consolidated`)).body,
    json: (await built(patientId, 'json')).text,
    html: (await built(patientId, 'html')).text,
    everything: (await door.get(`Patient/${patientId}/$everything`)).body,
    'patient summary': (await door.get(`Patient/${patientId}/$summary`)).body,
    search: bodies(searches),
    'search by code': bodies(byCode),
    read: bodies(reads),
    export: exported.join('\n'),
    documents: (await medical(`document?patientId=${patientId}`)).body,
    embed: (
      await door.get(
        `${TEST_BASE_URL}/embed/${door.accountId}/patient/${patientId}/summary`,
      )
    ).body,
  };
}

const arbitraryGiven = fc.record({
  type: fc.constantFrom<Given['type'][]>(
    'Condition',
    'Observation',
    'AllergyIntolerance',
    'DiagnosticReport',
    'MedicationRequest',
  ),
  label: fc.option(fc.constantFrom(...LABELS), { nil: undefined }),
  refersTo: fc.nat(20),
});

async function idsOf(
  patientId: string,
): Promise<Map<number, { type: string; id: string }>> {
  const everything = await door.bundle(`Patient/${patientId}/$everything`);
  return new Map(
    resourcesIn(everything).flatMap((resource) => {
      const index = /"code":"1(\d\d\d)-1"/.exec(JSON.stringify(resource))?.[1];
      return index === undefined
        ? []
        : [
            [
              Number(index),
              { type: resource.resourceType, id: String(resource.id) },
            ] as const,
          ];
    }),
  );
}

describe('what carries a withheld label', () => {
  test('leaves by no door, in no record, under no policy; what carries none leaves as before', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(arbitraryGiven, { minLength: 2, maxLength: 6 }),
        fc.uniqueArray(fc.constantFrom('R', 'V', 'ETH', 'ETHUD', 'SUD'), {
          minLength: 1,
          maxLength: 2,
        }),
        async (given, policy) => {
          await withhold();
          const patientId = await recordOf(given);
          const ids = await idsOf(patientId);
          expect(ids.size).toBe(given.length);
          await withhold(...policy);
          const denied = new Set([
            ...policy,
            ...(policy.includes('R') ? ['V'] : []),
            ...(policy.includes('SUD') ? ['ETHUD'] : []),
          ]);
          const isDenied = ({ label = '' }: Given) => denied.has(label);
          const texts = await allDoors(patientId, ids);
          for (const [name, text] of Object.entries(texts))
            for (const [index, each] of given.entries())
              if (isDenied(each))
                expect(
                  text.includes(secret(index)),
                  `${name}: ${each.type} ${each.label}`,
                ).toBe(false);
          for (const [index, each] of given.entries())
            if (!isDenied(each) && each.type !== 'DiagnosticReport')
              for (const name of [
                'consolidated',
                'json',
                'everything',
                'search',
                'read',
                'export',
              ])
                expect(
                  texts[name]?.includes(secret(index)),
                  `${name}: ${each.type}`,
                ).toBe(true);
          const isRedacted = given.some(isDenied);
          for (const name of [
            'consolidated',
            'json',
            'everything',
            'patient summary',
          ])
            expect(texts[name]?.includes('"REDACTED"'), name).toBe(isRedacted);
        },
      ),
      { numRuns: 8 },
    );
  });

  test('makes a pdf that says so, and does not count or reveal itself', async () => {
    const patientId = await recordOf([
      { type: 'Condition', label: 'R', refersTo: 0 },
      { type: 'Condition', refersTo: 0 },
    ]);
    const count = async () =>
      (await medical(`patient/${patientId}/consolidated/count`)).json()
        .resources.Condition;
    expect(await count()).toBe(2);
    await withhold('R');
    expect(await count()).toBe(1);
    expect(
      (await door.bundle(`Condition?patient=${patientId}&_summary=count`))
        .total,
    ).toBe(1);
    const html = (await built(patientId, 'html')).text;
    expect(html).toContain('withholds 1 resource');
    expect(html).toContain(
      'Apart from what is withheld: The sources have delivered no allergies',
    );
    expect((await built(patientId, 'pdf')).text).toContain('%PDF');
  });

  test('leaves no section that says that there is none, though a source says so', async () => {
    const patientId = await door.addPatient(person);
    const none = {
      resourceType: 'List',
      id: 'n',
      status: 'current',
      mode: 'snapshot',
      code: { coding: [{ system: LOINC, code: '48765-2' }] },
      subject: { reference: 'Patient/p' },
      emptyReason: {
        coding: [
          {
            system: 'http://terminology.hl7.org/CodeSystem/list-empty-reason',
            code: 'nilknown',
          },
        ],
      },
    };
    const hidden = {
      resourceType: 'AllergyIntolerance',
      id: 'h',
      patient: { reference: 'Patient/p' },
      ...labelled('ETH'),
      code: { text: 'methadone' },
    };
    await door.deliver(patientId, 'lab', [delivery('lab', none)], ['p']);
    const reasons = async () => {
      const text = JSON.stringify(
        await door.bundle(`Patient/${patientId}/$summary`),
      );
      return [
        ...text.matchAll(/list-empty-reason","code":"(nilknown|withheld)"/g),
      ].map(([, code]) => code);
    };
    expect(await reasons()).toEqual(['nilknown']);
    await door.deliver(patientId, 'hie', [delivery('hie', hidden)], ['p']);
    await withhold('ETH');
    expect(await reasons()).toEqual(['withheld']);
    expect((await built(patientId, 'html')).text).toContain(
      'Apart from what is withheld: ',
    );
  });

  test('is found by a code that an operator loaded, and in a resource contained in another', async () => {
    const patientId = await recordOf([
      { type: 'Observation', refersTo: 0 },
      { type: 'Observation', refersTo: 1 },
    ]);
    await door.store.asSystem((tx) =>
      labelCodes(
        tx,
        'HIV',
        JSON.stringify({
          resourceType: 'ValueSet',
          compose: {
            include: [{ system: LOINC, concept: [{ code: '1001-1' }] }],
          },
        }),
      ),
    );
    await withhold('STD');
    const left = JSON.stringify(
      await door.bundle(`Patient/${patientId}/$everything`),
    );
    expect([left.includes(secret(0)), left.includes(secret(1))]).toEqual([
      true,
      false,
    ]);
  });

  test('takes with it the MedicationRequest that names a withheld Medication, and the report that names a withheld result', async () => {
    const patientId = await door.addPatient(person);
    const medication = {
      resourceType: 'Medication',
      id: 'm',
      ...labelled('ETH'),
      code: { text: 'buprenorphine' },
    };
    const request = {
      resourceType: 'MedicationRequest',
      id: 'o',
      status: 'active',
      intent: 'order',
      subject: { reference: 'Patient/p' },
      medicationReference: {
        reference: 'Medication/m',
        display: 'buprenorphine',
      },
    };
    await door.deliver(
      patientId,
      'hie',
      [medication, request].map((each) => delivery('hie', each)),
      ['p'],
    );
    await withhold('ETH');
    const bundle = await door.bundle(`Patient/${patientId}/$everything`);
    expect(resourcesIn(bundle).map(({ resourceType }) => resourceType)).toEqual(
      ['Patient'],
    );
  });
});

describe('a document', () => {
  const LETTER = Buffer.from('a letter about zebra');
  async function letter(label?: string) {
    const patientId = await door.addPatient(person);
    const reference = {
      resourceType: 'DocumentReference',
      id: 'd',
      status: 'current',
      subject: { reference: 'Patient/p' },
      ...(label !== undefined && {
        securityLabel: [{ coding: [{ system: CONFIDENTIALITY, code: label }] }],
      }),
      content: [
        {
          attachment: {
            contentType: 'application/pdf',
            url: 'Binary/b',
            title: 'zebra',
          },
        },
      ],
    };
    const page = await door.deliver(
      patientId,
      'hie',
      [delivery('hie', reference)],
      ['p'],
    );
    const documentId = await door.deliverDocument(patientId, 'hie', {
      bytes: LETTER,
      contentType: 'application/pdf',
      sourceDocumentId: 'd',
    });
    await door.records.merge(door.accountId, patientId);
    const { documents } = (
      await medical(`document?patientId=${patientId}&output=dto`)
    ).json();
    const { url } = (
      await medical(`document/download-url?fileName=${documents[0].fileName}`)
    ).json();
    return {
      patientId,
      documentId,
      url,
      fileName: documents[0].fileName,
      page,
    };
  }

  test('that is labelled is neither listed nor handed out, by a link from before either, nor sent with a message', async () => {
    const { patientId, documentId, url, fileName, page } = await letter('R');
    expect((await door.get(url)).statusCode).toBe(200);
    await withhold('R');
    expect(
      (await medical(`document?patientId=${patientId}`)).json().documents,
    ).toEqual([]);
    for (const path of [
      url,
      `Binary/${documentId}`,
      `${TEST_BASE_URL}/medical/v1/document/download-url?fileName=${fileName}`,
      `${TEST_BASE_URL}/medical/v1/document/download-url?fileName=${page}`,
    ])
      expect((await door.get(path)).statusCode).toBe(403);
    const sent = await door.store.asAccount(door.accountId, (tx) =>
      documentsOfPatient(tx, patientId, [documentId]),
    );
    expect(sent).toEqual([]);
    expect(
      JSON.stringify(await door.bundle(`Patient/${patientId}/$everything`)),
    ).not.toContain('zebra');
  });

  test('of a labelled report is neither listed nor handed out', async () => {
    const { patientId } = await letter();
    const report = {
      resourceType: 'DiagnosticReport',
      id: 'r',
      meta: { security: [{ system: CONFIDENTIALITY, code: 'R' }] },
      status: 'final',
      code: { text: 'Biopsy' },
      subject: { reference: 'Patient/p' },
      presentedForm: [{ contentType: 'application/pdf', url: 'Binary/r' }],
    };
    await door.deliver(patientId, 'hie', [delivery('hie', report)], ['p']);
    const documentId = await door.deliverDocument(patientId, 'hie', {
      bytes: Buffer.from('of the report'),
      contentType: 'application/pdf',
      sourceDocumentId: 'DiagnosticReport/r',
    });
    await door.records.merge(door.accountId, patientId);
    const listed = async () =>
      (await medical(`document?patientId=${patientId}`)).json().documents
        .length;
    expect(await listed()).toBe(2);
    await withhold('R');
    expect(await listed()).toBe(1);
    expect((await door.get(`Binary/${documentId}`)).statusCode).toBe(403);
  });

  test('without a label is handed out; the stored response that brought it is not, while a policy is in force', async () => {
    const { patientId, documentId, page } = await letter();
    await withhold('R');
    expect((await door.get(`Binary/${documentId}`)).statusCode).toBe(200);
    expect(
      (await medical(`document?patientId=${patientId}`)).json().documents,
    ).toHaveLength(1);
    expect(
      (await medical(`document/download-url?fileName=${page}`)).statusCode,
    ).toBe(403);
  });
});

describe('a consent', () => {
  const GIVEN: Given[] = [{ type: 'Condition', label: 'ETH', refersTo: 0 }];
  const consent = async (patientId: string, provision: object) => {
    const response = await door.call(
      'POST',
      `${TEST_BASE_URL}/medical/v1/patient/${patientId}/consent`,
      { 'x-api-key': apiKey },
      consentBody({ provision }),
    );
    expect(response.statusCode).toBe(201);
    return response.json().id as string;
  };
  const seen = async (patientId: string) =>
    idsIn([await door.bundle(`Condition?patient=${patientId}`)]).length;
  const securityLabel = [{ code: 'ETH' }];

  test('that denies a label withholds it from this patient alone, until it ends, and stops no source', async () => {
    const denied = await recordOf(GIVEN);
    const other = await recordOf(GIVEN);
    const id = await consent(denied, { type: 'deny', securityLabel });
    expect([await seen(denied), await seen(other)]).toEqual([0, 1]);
    const consents: Bundle = await door.bundle(`Consent?patient=${denied}`);
    expect(idsIn([consents])).toEqual([id]);
    const ended = await door.call(
      'POST',
      `${TEST_BASE_URL}/medical/v1/patient/${denied}/consent/${id}/end`,
      {
        'x-api-key': apiKey,
      },
    );
    expect(ended.statusCode).toBe(200);
    expect(await seen(denied)).toBe(1);
  });

  test("that permits a label releases it under the account's policy, within its period", async () => {
    await withhold('ETH');
    const patientId = await recordOf(GIVEN);
    expect(await seen(patientId)).toBe(0);
    const past = new Date(Date.now() - 86_400_000).toISOString();
    await consent(patientId, {
      type: 'permit',
      securityLabel,
      period: { end: past },
    });
    expect(await seen(patientId)).toBe(0);
    await consent(patientId, { type: 'permit', securityLabel });
    expect(await seen(patientId)).toBe(1);
    await consent(patientId, { type: 'deny', securityLabel });
    expect(await seen(patientId)).toBe(0);
  });

  /** What counts as changed since a moment of the database, by `_since`. */
  const changedSince = async (patientId: string, since: string) =>
    idsIn([
      await door.bundle(
        `Patient/${patientId}/$everything?_type=Condition&_since=${since}`,
      ),
    ]).length;
  const now = async (): Promise<string> => {
    const { rows } = await door.store.asSystem((tx) =>
      sql<{ at: Date }>`select clock_timestamp() as at`.execute(tx.db),
    );
    // A moment later, because times have milliseconds.
    await sleep(2);
    return rows[0]?.at.toISOString() ?? '';
  };

  test('that releases data makes it change: readers of changes get it, and nothing else', async () => {
    const patientId = await recordOf([
      ...GIVEN,
      { type: 'Condition', refersTo: 0 },
    ]);
    const denied = await consent(patientId, { type: 'deny', securityLabel });
    const before = await now();
    expect(await changedSince(patientId, before)).toBe(0);
    await door.call(
      'POST',
      `${TEST_BASE_URL}/medical/v1/patient/${patientId}/consent/${denied}/end`,
      { 'x-api-key': apiKey },
    );
    expect(await changedSince(patientId, before)).toBe(1);

    await withhold('ETH');
    const later = await now();
    expect(await changedSince(patientId, later)).toBe(0);
    await consent(patientId, { type: 'permit', securityLabel });
    expect(await changedSince(patientId, later)).toBe(1);
  });

  test('whose period ends releases what it withheld as a change, too', async () => {
    const { recoveries } = consentsFeature.open({ store: door.store });
    const [recovery] = recoveries;
    if (recovery === undefined) throw new Error('there is no recovery');
    const patientId = await recordOf(GIVEN);
    const end = new Date(Date.now() + 1_500);
    await consent(patientId, {
      type: 'deny',
      securityLabel,
      period: { end: end.toISOString() },
    });
    const before = await now();
    expect(await seen(patientId)).toBe(0);
    await sleep(end.getTime() - Date.now() + 100);
    expect(await takeUp(recovery)).toBe(1);
    expect(await changedSince(patientId, before)).toBe(1);
    expect(await takeUp(recovery)).toBe(0);
  });

  test('that comes after a result was made ends that result', async () => {
    const patientId = await recordOf(GIVEN);
    const { result, text } = await built(patientId, 'json');
    expect(text).toContain(secret(0));
    await consent(patientId, { type: 'deny', securityLabel });
    expect((await door.get(result)).statusCode).toBe(410);
  });
});
