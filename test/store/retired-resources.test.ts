import fc from 'fast-check';
import type { FhirResource } from 'fhir/r4.js';
import { sql } from 'kysely';
import { describe, expect } from 'vitest';
import { listDocuments } from '../../src/exchange/delivery/documents/document-store.ts';
import { noteIncomplete } from '../../src/exchange/queries/network-query/timeline-store.ts';
import { createCcdaConverter } from '../../src/exchange/records/conversion/ccda-converter.ts';
import { readConsolidated } from '../../src/exchange/records/reading/read-consolidated.ts';
import { readReplacedReferences } from '../../src/exchange/records/reading/record-store.ts';
import { createRecordKeeper } from '../../src/exchange/records/record-keeper.ts';
import {
  type Fate,
  type MissingResources,
  SourceFailure,
  type SourcePage,
} from '../../src/exchange/sources/connectors/connector.ts';
import { queryTest } from '../support/fixtures.ts';
import { runActivity } from '../support/network-query-environment.ts';
import { propertyOf } from '../support/property.ts';
import { observation, page, sourceOf } from '../support/source-pages.ts';

const test = queryTest.extend(
  'querying',
  { scope: 'file' },
  async ({ environment, account }) => {
    /**
     * One query of the lab; `fates` is what the source says of what is missing.
     */
    async function collect(
      patientId: string,
      pages: SourcePage[],
      fates: (question: MissingResources) => Fate[] = ({ missing }) =>
        missing.map(() => 'deleted'),
    ) {
      const requestId = await account.addQuery(patientId, ['lab']);
      const asked: MissingResources[] = [];
      const checkMissing = async (question: MissingResources) => {
        asked.push(question);
        return fates(question);
      };
      const { askSource } = account.activities({
        ...sourceOf(pages),
        checkMissing,
      });
      const step = account.step(requestId, 'lab');
      const failure = await runActivity(askSource, step).then(
        () => undefined,
        (error: unknown) => error,
      );
      return { requestId, step, asked, failure };
    }
    const patientWith = async (...ids: string[]) => {
      const patientId = await account.addPatient();
      await collect(patientId, [answer(ids.map((id) => result(id)))]);
      return patientId;
    };
    /** What the record shows, brought up to date as every reader does. */
    async function shown(patientId: string): Promise<string[]> {
      const records = createRecordKeeper({
        ...environment,
        converter: createCcdaConverter(),
        noteIncomplete,
      });
      await records.merge(account.accountId, patientId);
      const { resources } = await account.inTx((tx) =>
        readConsolidated(
          tx,
          patientId,
          {
            types: [
              'Observation',
              'DocumentReference',
              'DiagnosticReport',
              'Procedure',
            ],
          },
          undefined,
          500,
        ),
      );
      return resources
        .flatMap(({ origins }) => origins.map(({ sourceId }) => sourceId))
        .sort();
    }
    const retired = (patientId: string) =>
      account.inTx((tx) =>
        tx.db
          .selectFrom('retired_resource')
          .select([
            'source_id',
            'reason',
            'query_id',
            'collected_at',
            'retired_at',
            sql<object>`case when pack is null then content else content_in((select contents from resource_pack p
              where p.patient_id = retired_resource.patient_id and p.pack = retired_resource.pack), place) end`.as(
              'content',
            ),
          ])
          .where('patient_id', '=', patientId)
          .orderBy('retired_at')
          .orderBy('source_id')
          .execute(),
      );
    const told = async (requestId: string) =>
      (await account.timeline(requestId)).map(
        ({ kind, message }) => `${kind}: ${message}`,
      );
    const eventOf = (requestId: string) =>
      account.inTx((tx) =>
        tx.db
          .selectFrom('event')
          .select('body')
          .where('request_id', '=', requestId)
          .executeTakeFirstOrThrow(),
      );
    const listed = (patientId: string) =>
      account.inTx((tx) => listDocuments(tx, patientId));
    /** The procedures in the record, by code. */
    const codes = (patientId: string): Promise<string[]> =>
      account.inTx(async (tx) => {
        const rows = await tx.db
          .selectFrom('delivered_resource')
          .select(sql<string>`content->'code'->'coding'->0->>'code'`.as('code'))
          .where('patient_id', '=', patientId)
          .where('resource_type', '=', 'Procedure')
          .orderBy('code')
          .execute();
        return rows.map(({ code }) => code);
      });
    /** The ids of the DocumentReferences that the page shows as replaced. */
    const replaced = (patientId: string) =>
      account.inTx((tx) => readReplacedReferences(tx, patientId));
    return {
      ...account,
      replaced,
      collect,
      patientWith,
      shown,
      retired,
      told,
      eventOf,
      listed,
      codes,
    };
  },
);

/**
 * An Observation of the patient whom the source calls p1, or of another one.
 */
const result = (
  id: string,
  { of = 'p1', lastUpdated }: { of?: string; lastUpdated?: string } = {},
) =>
  ({
    ...observation(id, id),
    subject: { reference: `Patient/${of}` },
    meta: lastUpdated === undefined ? undefined : { lastUpdated },
  }) as FhirResource;
const answer = (resources: FhirResource[], rest: Partial<SourcePage> = {}) =>
  page(resources, { patientIds: ['p1'], ...rest });
const moved = (id: string, rest = {}) => ({
  resourceType: 'Observation',
  id,
  reason: 'moved' as const,
  revision: '',
  patientIds: ['p2'],
  ...rest,
});

describe('what a whole answer no longer holds', () => {
  test('leaves the record once the source says that it is gone, and is kept with the reason', async ({
    querying,
  }) => {
    const patientId = await querying.patientWith('a', 'b');
    const { requestId, asked } = await querying.collect(patientId, [
      answer([result('a')]),
    ]);
    expect(asked).toMatchObject([
      {
        missing: [{ resourceType: 'Observation', id: 'b' }],
        patientIds: ['p1'],
      },
    ]);
    expect(asked[0]?.present).toEqual(new Map([['Observation', 'a']]));
    expect(await querying.shown(patientId)).toEqual(['a']);
    expect(await querying.retired(patientId)).toMatchObject([
      {
        source_id: 'b',
        reason: 'deleted',
        query_id: requestId,
        content: { id: 'b' },
      },
    ]);
    expect(await querying.told(requestId)).toContain(
      'retired: The source no longer has 1 resource: it was retired (1 Observation)',
    );
    expect((await querying.eventOf(requestId)).body).toMatchObject({
      payload: { source: { retired: 1 } },
    });
  });

  test('stays when the source still has it, or cannot say; the latter is told', async ({
    querying,
  }) => {
    const patientId = await querying.patientWith('a', 'b', 'c');
    const { requestId } = await querying.collect(
      patientId,
      [answer([result('a')])],
      ({ missing }) =>
        missing.map(({ id }) => (id === 'b' ? 'kept' : 'unknown')),
    );
    expect(await querying.shown(patientId)).toEqual(['a', 'b', 'c']);
    const lines = await querying.told(requestId);
    expect(lines).toContain(
      'incomplete: 1 resource missing from the answer could not be checked at the source and stays in the record',
    );
    expect(lines.filter((line) => line.startsWith('retired'))).toEqual([]);
    expect((await querying.eventOf(requestId)).body).not.toHaveProperty(
      'payload.source.retired',
    );
  });

  test('is not even asked for after an answer with errors of the source', async ({
    querying,
  }) => {
    const patientId = await querying.patientWith('a', 'b');
    const partial = await querying.collect(patientId, [
      answer([result('a')], { reportedErrors: 1 }),
    ]);
    expect(partial.asked).toEqual([]);
    expect(await querying.shown(patientId)).toEqual(['a', 'b']);
  });

  test('is not asked for when an earlier page was kept without a note of what it named', async ({
    querying,
  }) => {
    const patientId = await querying.patientWith('a', 'b');
    const requestId = await querying.addQuery(patientId, ['lab']);
    const step = querying.step(requestId, 'lab');
    const pages = [answer([result('a')]), answer([])];
    const broken = {
      ...sourceOf(pages),
      begin: async () => ({ kind: 'ready' as const, pages: thenFail(pages) }),
    };
    await expect(
      runActivity(querying.activities(broken).askSource, step),
    ).rejects.toThrow('cut off');
    await querying.inTx((tx) =>
      tx.db
        .deleteFrom('answered_page')
        .where('query_id', '=', requestId)
        .execute(),
    );
    const checkMissing = () =>
      Promise.reject(new Error('nothing may be asked'));
    await runActivity(
      querying.activities({ ...sourceOf(pages), checkMissing }).askSource,
      step,
      2,
    );
    expect(await querying.shown(patientId)).toEqual(['a', 'b']);
  });

  test('comes back when the source has it again', async ({ querying }) => {
    const patientId = await querying.patientWith('a', 'b');
    await querying.collect(patientId, [answer([result('a')])]);
    await querying.collect(patientId, [answer([result('a'), result('b')])]);
    expect(await querying.shown(patientId)).toEqual(['a', 'b']);
    await querying.collect(patientId, [answer([result('a')])]);
    expect(await querying.shown(patientId)).toEqual(['a']);
    expect(await querying.retired(patientId)).toHaveLength(2);
  });

  test('of another source stays', async ({ querying }) => {
    const patientId = await querying.patientWith('a');
    const requestId = await querying.addQuery(patientId, ['hie']);
    const { askSource } = querying.activities(
      sourceOf([answer([result('h')])]),
    );
    await runActivity(askSource, querying.step(requestId, 'hie'));
    expect(await querying.shown(patientId)).toEqual(['a', 'h']);
  });

  test('leaves no notes behind, however the attempt ends', async ({
    querying,
  }) => {
    const patientId = await querying.patientWith('a');
    const { requestId } = await querying.collect(patientId, [
      answer([result('b')]),
    ]);
    const left = await querying.inTx((tx) =>
      tx.db
        .selectFrom('answered_page')
        .select('page')
        .where('query_id', '=', requestId)
        .execute(),
    );
    expect(left).toEqual([]);
  });
});

async function* thenFail(pages: SourcePage[]) {
  for (const each of pages.slice(0, 1)) yield { ...each, next: { page: 1 } };
  await Promise.resolve();
  throw new SourceFailure('transport', 'cut off');
}

describe('what the source now says of another person', () => {
  test('leaves the record with the page that says so, though the answer then breaks off', async ({
    querying,
  }) => {
    const patientId = await querying.patientWith('a', 'b');
    const requestId = await querying.addQuery(patientId, ['lab']);
    const pages = [
      answer([result('a')], { retracted: [moved('b')], misattributedCount: 1 }),
    ];
    const connector = {
      begin: async () => ({ kind: 'ready' as const, pages: thenFail(pages) }),
    };
    const step = querying.step(requestId, 'lab');
    const { askSource, recordFailedAttempt } = querying.activities(connector);
    await expect(runActivity(askSource, step)).rejects.toThrow('cut off');
    expect(await querying.shown(patientId)).toEqual(['a']);
    await runActivity(recordFailedAttempt, {
      ...step,
      reason: 'cut off',
      abandoned: false,
    });
    expect(await querying.told(requestId)).toContain(
      'retired: The source now names another person in 1 resource: it was retired (1 Observation)',
    );
    expect((await querying.eventOf(requestId)).body).toMatchObject({
      payload: { source: { status: 'failed', retired: 1 } },
    });
  });

  test('stays when that is an id under which the source has known this person', async ({
    querying,
  }) => {
    const patientId = await querying.patientWith('a');
    await querying.collect(patientId, [
      answer([result('a')], { patientIds: ['p1', 'p2'] }),
    ]);
    await querying.collect(patientId, [
      answer([result('a')]),
      answer([], { retracted: [moved('a')] }),
    ]);
    expect(await querying.shown(patientId)).toEqual(['a']);
  });

  test('stays when that is said by an older version than the one that was collected', async ({
    querying,
  }) => {
    const patientId = await querying.addPatient();
    await querying.collect(patientId, [
      answer([result('a', { lastUpdated: '2026-05-01T00:00:00Z' })]),
    ]);
    const older = moved('a', {
      revision: '2026-04-01T00:00:00.000Z/000000000000',
    });
    await querying.collect(
      patientId,
      [answer([], { retracted: [older] })],
      ({ missing }) => missing.map(() => 'kept'),
    );
    expect(await querying.shown(patientId)).toEqual(['a']);
    const newer = moved('a', {
      revision: '2026-06-01T00:00:00.000Z/000000000000',
    });
    await querying.collect(patientId, [answer([], { retracted: [newer] })]);
    expect(await querying.shown(patientId)).toEqual([]);
  });
});

const ccda = (code: string, header = '<id root="1.2.3"/>') =>
  Buffer.from(`<?xml version="1.0"?><ClinicalDocument xmlns="urn:hl7-org:v3">${header}
<recordTarget><patientRole><patient><name><given>Tamica</given><family>Murazik</family></name>
<administrativeGenderCode code="F"/><birthTime value="19800401"/></patient></patientRole></recordTarget>
<component><structuredBody><component><section><templateId root="2.16.840.1.113883.10.20.22.2.7.1"/>
<entry><procedure><id root="1.2.3" extension="${code}"/><code code="${code}" codeSystem="2.16.840.1.113883.6.96"/><effectiveTime value="20240501"/></procedure></entry>
</section></component></structuredBody></component></ClinicalDocument>`);
const reference = {
  resourceType: 'DocumentReference',
  id: 'd1',
  status: 'current',
  subject: { reference: 'Patient/p1' },
  content: [{ attachment: { contentType: 'text/xml', url: 'Binary/b1' } }],
} as FhirResource;
const report = {
  resourceType: 'DiagnosticReport',
  id: 'd1',
  status: 'final',
  code: { text: 'Biopsy' },
  subject: { reference: 'Patient/p1' },
  presentedForm: [{ contentType: 'text/xml', url: 'Binary/b1' }],
} as FhirResource;
const withDocument = (owner = reference) =>
  answer([result('a'), owner], {
    attachments: [
      {
        sourceDocumentId: owner === reference ? 'd1' : 'DiagnosticReport/d1',
        contentType: 'text/xml',
        bytes: ccda('80146002'),
      },
    ],
  });
/** Whose file a document is. */
const OWNERS: [string, FhirResource][] = [
  ['DocumentReference', reference],
  ['DiagnosticReport', report],
];

describe('a document that the source took back', () => {
  test.for(OWNERS)(
    'goes with all that was made of it, and comes back with it (%s)',
    async ([type, owner], { querying }) => {
      const patientId = await querying.addPatient();
      await querying.collect(patientId, [withDocument(owner)]);
      const before = await querying.shown(patientId);
      expect(before).toContain('d1');
      expect(before.length).toBeGreaterThan(2);
      expect(await querying.listed(patientId)).toHaveLength(1);

      const { requestId } = await querying.collect(patientId, [
        answer([result('a')]),
      ]);
      expect(await querying.shown(patientId)).toEqual(['a']);
      expect(await querying.listed(patientId)).toEqual([]);
      expect(await querying.told(requestId)).toContain(
        `retired: The source no longer has 1 resource: it was retired (1 ${type})`,
      );

      await querying.collect(patientId, [withDocument(owner)]);
      expect(await querying.shown(patientId)).toEqual(before);
      expect(await querying.listed(patientId)).toHaveLength(1);
    },
  );
});

describe('a document that the source entered in error', () => {
  test.for<[string, FhirResource]>([
    ['status', reference],
    ['docStatus', reference],
    ['status', report],
  ])(
    'is not listed, and nothing made of it is shown, until it is right again (%s of %j)',
    async ([element, owner], { querying }) => {
      const patientId = await querying.addPatient();
      await querying.collect(patientId, [withDocument(owner)]);
      const before = await querying.shown(patientId);
      expect(before.length).toBeGreaterThan(2);

      await querying.collect(patientId, [
        answer([
          result('a'),
          { ...owner, [element]: 'entered-in-error' } as FhirResource,
        ]),
      ]);
      expect(await querying.shown(patientId)).toEqual(['a', 'd1']);
      expect(await querying.listed(patientId)).toEqual([]);

      await querying.collect(patientId, [answer([result('a'), owner])]);
      expect(await querying.shown(patientId)).toEqual(before);
      expect(await querying.listed(patientId)).toHaveLength(1);
    },
  );
});

describe('a document that the source has replaced', () => {
  const old = (status: string) => ({ ...reference, status }) as FhirResource;
  const newer = (more: object = {}) =>
    ({
      ...reference,
      id: 'd2',
      relatesTo: [
        { code: 'replaces', target: { reference: 'DocumentReference/d1' } },
      ],
      ...more,
    }) as FhirResource;
  const file = (sourceDocumentId: string, code: string) => ({
    sourceDocumentId,
    contentType: 'text/xml',
    bytes: ccda(code),
  });
  const withBoth = (status: string, more?: object) =>
    answer([result('a'), old(status), newer(more)], {
      attachments: [file('d1', '80146002'), file('d2', '73761001')],
    });

  test('states nothing any more, stays listed, and does so again when its replacement was a mistake', async ({
    querying,
  }) => {
    const patientId = await querying.addPatient();
    await querying.collect(patientId, [withDocument()]);
    expect(await querying.codes(patientId)).toEqual(['80146002']);
    await querying.collect(patientId, [withBoth('superseded')]);
    expect(await querying.codes(patientId)).toEqual(['73761001']);
    expect(await querying.listed(patientId)).toHaveLength(2);
    await querying.collect(patientId, [
      withBoth('superseded', { status: 'entered-in-error' }),
    ]);
    expect(await querying.codes(patientId)).toEqual(['80146002']);
  });

  test('states nothing any more, also if it is still current at the source', async ({
    querying,
  }) => {
    const patientId = await querying.addPatient();
    await querying.collect(patientId, [withBoth('current')]);
    expect(await querying.codes(patientId)).toEqual(['73761001']);
    expect(await querying.listed(patientId)).toHaveLength(2);
  });

  const V1 = '<id root="1.2" extension="v1"/><code code="34133-9"/>';
  const V2 = '<id root="1.2" extension="v2"/><code code="34133-9"/>';
  const set = (number: number) =>
    `<setId root="1.9" extension="s"/><versionNumber value="${number}"/>`;
  const parent = (type: string, id: string) =>
    `<relatedDocument typeCode="${type}"><parentDocument><id root="1.2" extension="${id}"/></parentDocument></relatedDocument>`;

  test.for<[string, string, string, string[]]>([
    ['replaces it', V1, V2 + parent('RPLC', 'v1'), ['73761001']],
    ['is a later version of it', V1 + set(1), V2 + set(2), ['73761001']],
    ['adds to it', V1, V2 + parent('APND', 'v1'), ['73761001', '80146002']],
    [
      'has the same version number',
      V1 + set(1),
      V2 + set(1),
      ['73761001', '80146002'],
    ],
    [
      'and it name each other',
      V1 + parent('RPLC', 'v2'),
      V2 + parent('RPLC', 'v1'),
      ['73761001', '80146002'],
    ],
  ])(
    'a C-CDA document whose header says that it %s',
    async ([_, first, second, codes], { querying }) => {
      const patientId = await querying.addPatient();
      const two = { ...reference, id: 'd2' } as FhirResource;
      const attachments = [
        { ...file('d1', ''), bytes: ccda('80146002', first) },
        { ...file('d2', ''), bytes: ccda('73761001', second) },
      ];
      await querying.collect(patientId, [
        answer([old('current'), two], { attachments }),
      ]);
      expect((await querying.codes(patientId)).sort()).toEqual(codes);
      // Both are listed, and that which is replaced says so.
      const listed = await querying.listed(patientId);
      const replaced = listed.filter(({ isReplaced }) => isReplaced);
      expect(listed).toHaveLength(2);
      expect(replaced.map(({ reference }) => reference?.id)).toEqual(
        codes.length === 1 ? ['d1'] : [],
      );
      expect(await querying.replaced(patientId)).toHaveLength(replaced.length);

      // A mistaken replacement takes nothing back.
      const mistaken = { ...two, status: 'entered-in-error' } as FhirResource;
      await querying.collect(patientId, [
        answer([old('current'), mistaken], { attachments }),
      ]);
      expect(await querying.codes(patientId)).toEqual(['80146002']);
    },
  );

  test('is left out through a chain of replacements', async ({ querying }) => {
    const patientId = await querying.addPatient();
    const third = newer({
      id: 'd3',
      relatesTo: [
        {
          code: 'replaces',
          target: { reference: 'DocumentReference/d2/_history/1' },
        },
      ],
    });
    const attachments = [
      file('d1', '80146002'),
      file('d2', '73761001'),
      file('d3', '40701008'),
    ];
    await querying.collect(patientId, [
      answer([old('superseded'), newer({ status: 'superseded' }), third], {
        attachments,
      }),
    ]);
    expect(await querying.codes(patientId)).toEqual(['40701008']);
  });

  test.for<[string, SourcePage]>([
    [
      'is superseded, but nothing says by what',
      withBoth('superseded', { relatesTo: [] }),
    ],
    [
      'is superseded by one without content that can be read',
      answer([old('superseded'), newer()], {
        attachments: [file('d1', '80146002')],
      }),
    ],
    [
      'and its replacement name each other as replaced',
      answer(
        [
          {
            ...old('superseded'),
            relatesTo: [
              {
                code: 'replaces',
                target: { reference: 'DocumentReference/d2' },
              },
            ],
          } as FhirResource,
          newer({ status: 'superseded' }),
        ],
        { attachments: [file('d1', '80146002'), file('d2', '73761001')] },
      ),
    ],
  ])(
    'keeps stating what it states if it %s',
    async ([_, page], { querying }) => {
      const patientId = await querying.addPatient();
      await querying.collect(patientId, [page]);
      expect(await querying.codes(patientId)).toContain('80146002');
    },
  );
});

const IDS = ['a', 'b', 'c', 'd'] as const;
/** Where a resource is at its source, and whether the answer holds it. */
const place = fc.constantFrom(
  'ours',
  'left out',
  'moved',
  'moved, told',
  'deleted',
  'deleted, told',
);
const situation = fc.record({
  places: fc.tuple(place, place, place, place),
  isPartial: fc.boolean(),
  isReadable: fc.boolean(),
});

const situations = propertyOf(
  [fc.array(situation, { minLength: 1, maxLength: 4 })],
  { numRuns: 20 },
);
test(
  situations.named(
    'nothing that is still the person’s leaves the record, and after a whole answer that could be checked nothing else is in it',
  ),
  async ({ querying }) =>
    situations.holds(async (situations) => {
      const patientId = await querying.patientWith(...IDS);
      let expected = new Set<string>(IDS);
      for (const { places, isPartial, isReadable } of situations) {
        const at = Object.fromEntries(
          IDS.map((id, index) => [id, places[index] ?? 'ours']),
        );
        const where = (...wanted: string[]) =>
          IDS.filter((id) => wanted.includes(at[id] ?? ''));
        const retracted = [
          ...where('moved, told').map((id) => moved(id)),
          ...where('deleted, told').map((id) => ({
            ...moved(id),
            reason: 'deleted' as const,
            patientIds: [],
          })),
        ];
        const pages = [
          answer(
            where('ours').map((id) => result(id)),
            { retracted, reportedErrors: isPartial ? 1 : 0 },
          ),
        ];
        await querying.collect(patientId, pages, ({ missing }) =>
          missing.map(({ id }): Fate => {
            if (!isReadable) return 'unknown';
            return at[id]?.startsWith('moved')
              ? 'moved'
              : at[id]?.startsWith('deleted')
                ? 'deleted'
                : 'kept';
          }),
        );
        const isChecked = !isPartial && isReadable;
        expected = new Set([
          ...where('ours'),
          ...[...expected].filter((id) =>
            where('left out', ...(isChecked ? [] : ['moved', 'deleted'])).some(
              (other) => other === id,
            ),
          ),
        ]);
        expect(await querying.shown(patientId)).toEqual([...expected].sort());
      }
    }),
);
