import { describe, expect } from 'vitest';
import {
  ada,
  adaAtSource,
  bundle,
  condition,
  type FakeSource,
  idsOf,
  somebodyElse,
  sourceTest,
} from '../../support/fake-source.ts';

const test = sourceTest.extend('routes', {});

const GRADE = 'http://hl7.org/fhir/StructureDefinition/match-grade';
const graded = (resource: unknown, grade: string) => ({
  resourceType: 'Bundle',
  type: 'searchset',
  entry: [
    {
      resource,
      search: { mode: 'match', extension: [{ url: GRADE, valueCode: grade }] },
    },
  ],
});

describe('$match', () => {
  test('an answer that grades a different person as certain ends the request at once, without personal data in the error', async ({
    source,
  }) => {
    source.serve({ 'POST Patient/$match': { json: bundle([somebodyElse]) } });
    await expect(source.begin()).rejects.toMatchObject({
      kind: 'refused',
      message:
        'hie answered Patient/$match with another patient as a certain match: nothing was collected; compare our ' +
        'description of the patient with the source, then query it again',
    });
    source.routes = {
      'POST Patient/$match': { json: graded(somebodyElse, 'certain') },
    };
    await expect(source.begin()).rejects.toMatchObject({ kind: 'refused' });
    expect(source.askedFor('GET Patient/p9')).toEqual([]);
  });

  test('somebody else who is only a candidate, and a namesake nobody can prove, leave the person unknown', async ({
    source,
  }) => {
    source.serve({
      'POST Patient/$match': { json: graded(somebodyElse, 'possible') },
    });
    expect(await source.begin()).toEqual({ kind: 'unknown-patient' });
    const namesake = { ...adaAtSource, address: [{ postalCode: '90210' }] };
    source.routes = {
      'POST Patient/$match': { json: graded(namesake, 'certain') },
    };
    expect(await source.begin()).toMatchObject({
      kind: 'unknown-patient',
      notice: expect.stringContaining(
        '1 Patient that may be this patient, which is not certain',
      ),
    });
  });

  test('twins who contradict each other are both held back, and not searched for one by one', async ({
    source,
  }) => {
    const twins = ['Ann', 'Beth'].map((second, index) => ({
      ...adaAtSource,
      id: `p${index + 1}`,
      name: [{ family: 'LOVELACE', given: ['Ada', second] }],
    }));
    source.serve({
      'POST Patient/$match': { json: bundle(twins) },
      'POST Patient/_search': { json: bundle(twins.slice(0, 1)) },
    });
    expect(await source.begin()).toMatchObject({
      kind: 'unknown-patient',
      notice: expect.stringContaining(
        '2 Patients that cannot be this patient together',
      ),
    });
    expect(source.askedFor('POST Patient/_search')).toEqual([]);
  });

  test('others beside our person are ignored', async ({ source }) => {
    source.serve({
      'POST Patient/$match': { json: bundle([somebodyElse, adaAtSource]) },
      'GET Patient/p1/$everything': { json: bundle([condition('c1')]) },
    });
    expect(idsOf(await source.collect())).toEqual(['Condition/c1']);
    expect(source.askedFor('GET Patient/p9')).toEqual([]);
  });

  test.for<[string, unknown]>([
    ['a broken name', { ...adaAtSource, name: 'Ada Lovelace' }],
    ['no id', { ...adaAtSource, id: undefined }],
    ['an id that climbs', { ...adaAtSource, id: '..' }],
    ['an id with a path in it', { ...adaAtSource, id: 'p1/../p2' }],
  ])('a Patient with %s is not trusted', async ([_, patient], { source }) => {
    source.serve({
      'POST Patient/$match': { json: graded(patient, 'possible') },
    });
    expect(await source.begin()).toEqual({ kind: 'unknown-patient' });
  });

  test('several records of our person are all collected', async ({
    source,
  }) => {
    source.serve({
      'POST Patient/$match': {
        json: bundle([adaAtSource, { ...adaAtSource, id: 'p2' }]),
      },
      'GET Patient/p1/$everything': { json: bundle([condition('c1')]) },
      'GET Patient/p2/$everything': {
        json: bundle([condition('c2', 'Patient/p2')]),
      },
    });
    const pages = await source.collect();
    expect(idsOf(pages)).toEqual(['Condition/c1', 'Condition/c2']);
    expect(pages.map(({ next }) => next === null)).toEqual([false, true]);
    expect(source.askedFor('GET Patient/p1/$everything')).toHaveLength(1);
    expect(source.askedFor('GET Patient/p2/$everything')).toHaveLength(1);
  });

  test.for([404, 405, 501])(
    'a source that answers %s to it is searched',
    async (status, { source }) => {
      source.serve({
        'POST Patient/$match': { status },
        'POST Patient/_search': { json: bundle([]) },
      });
      expect(await source.begin()).toEqual({ kind: 'unknown-patient' });
    },
  );
});

describe('a search', () => {
  const match = { 'POST Patient/$match': { status: 404 } };

  test('that answers everybody finds our person on a later page, or nobody', async ({
    source,
  }) => {
    source.serve({
      ...match,
      'POST Patient/_search': { json: bundle([somebodyElse], '?page=2') },
      'GET Patient/_search?page=2': { json: bundle([adaAtSource]) },
      'GET Patient/p1/$everything': { json: bundle([condition('c1')]) },
    });
    expect(idsOf(await source.collect())).toEqual(['Condition/c1']);
    source.routes['GET Patient/_search?page=2'] = {
      json: bundle([somebodyElse]),
    };
    expect(await source.begin()).toEqual({ kind: 'unknown-patient' });
  });

  test('that answers everybody without end is a bad answer, not an unknown patient', async ({
    source,
  }) => {
    let page = 1;
    source.serve({
      ...match,
      'POST Patient/_search': { json: bundle([somebodyElse], '?page=1') },
      'GET Patient/_search': () => {
        page += 1;
        return { json: bundle([somebodyElse], `?page=${page}`) };
      },
    });
    await expect(source.begin()).rejects.toMatchObject({ kind: 'bad-answer' });
    expect(source.asked.length).toBeLessThan(20);
  });

  test('is repeated without the birth date for a server that refuses it, and our rule compares it', async ({
    source,
  }) => {
    const sent = ({ body }: { body: string }) =>
      new URLSearchParams(body).has('birthdate')
        ? { status: 400 }
        : {
            json: bundle([
              { ...adaAtSource, id: 'p7', birthDate: '1985-12-11' },
              adaAtSource,
            ]),
          };
    source.serve({
      ...match,
      'POST Patient/_search': sent,
      'GET Patient/p1/$everything': { json: bundle([condition('c1')]) },
    });
    expect(idsOf(await source.collect())).toEqual(['Condition/c1']);
  });

  test('by name alone finds a person whose birth date is mistyped there, and proves nothing else', async ({
    source,
  }) => {
    const near = {
      ...adaAtSource,
      birthDate: '1985-12-11',
      telecom: [
        { system: 'phone', value: ada.contacts[0]?.phone },
        { system: 'email', value: ada.contacts[0]?.email },
      ],
    };
    const found = (named: { status?: number; json?: unknown }) => ({
      ...match,
      'POST Patient/_search': ({ body }: { body: string }) =>
        new URLSearchParams(body).has('birthdate')
          ? { json: bundle([]) }
          : named,
      'GET Patient/p1/$everything': { json: bundle([condition('c1')]) },
    });
    source.serve(found({ json: bundle([near]) }));
    expect(idsOf(await source.collect())).toEqual(['Condition/c1']);
    const namesake = {
      resourceType: 'Patient',
      id: 'p1',
      name: near.name,
      birthDate: '1958-12-11',
    };
    for (const answer of [
      { json: bundle([namesake]) },
      { status: 400 },
      { status: 403 },
      { status: 500 },
    ]) {
      source.serve(found(answer));
      expect(await source.begin()).toEqual({ kind: 'unknown-patient' });
    }
  });

  test('is sent by GET to a server that has no other', async ({ source }) => {
    source.serve({
      ...match,
      'POST Patient/_search': { status: 405 },
      'GET Patient': ({ path }: { path: string }) => ({
        json: bundle(path.includes('family=Lovelace') ? [adaAtSource] : []),
      }),
      'GET Patient/p1/$everything': { json: bundle([condition('c1')]) },
    });
    expect(idsOf(await source.collect())).toEqual(['Condition/c1']);
  });

  test('that reports an error is no proof that the patient is unknown', async ({
    source,
  }) => {
    const outcome = {
      resourceType: 'OperationOutcome',
      issue: [{ severity: 'error', code: 'timeout' }],
    };
    source.serve({
      ...match,
      'POST Patient/_search': { json: bundle([outcome]) },
    });
    await expect(source.begin()).rejects.toMatchObject({ kind: 'bad-answer' });
  });

  test('is not continued by a link that would put the name into an address', async ({
    source,
  }) => {
    let posts = 0;
    source.serve({
      ...match,
      'POST Patient/_search': () => {
        posts += 1;
        return {
          json: bundle(
            [],
            posts === 1
              ? 'Patient?family=Lovelace&birthdate=1985-12-10&page=2'
              : undefined,
          ),
        };
      },
    });
    expect(await source.begin()).toEqual({ kind: 'unknown-patient' });
    expect(source.askedFor('POST Patient/_search')[1]?.body).toBe(
      'family=Lovelace&birthdate=1985-12-10&page=2',
    );
    expect(source.asked.some(({ path }) => path.includes('Lovelace'))).toBe(
      false,
    );
  });
});

describe('a person whom the exact search does not find', () => {
  const searchable = (...names: string[]) => ({
    'GET metadata': {
      json: {
        resourceType: 'CapabilityStatement',
        rest: [
          {
            mode: 'server',
            resource: [
              { type: 'Patient', searchParam: names.map((name) => ({ name })) },
            ],
          },
        ],
      },
    },
  });
  const byParameter = (name: string, found: unknown, others?: unknown) => ({
    'POST Patient/_search': ({ body }: { body: string }) => ({
      json: bundle(
        new URLSearchParams(body).has(name) ? [found] : [others ?? namesake],
      ),
    }),
  });
  const namesake = {
    ...adaAtSource,
    id: 'p5',
    address: [{ postalCode: '90210' }],
  };
  const everything = {
    'GET Patient/p1/$everything': { json: bundle([condition('c1')]) },
  };
  const searched = (source: FakeSource) =>
    source
      .askedFor('POST Patient/_search')
      .map(({ body }) =>
        [...new URLSearchParams(body).keys()]
          .filter((name) => name !== '_count')
          .join('+'),
      );

  test('is searched by the birth date and a similar name, the zip, the phone and the identifier, in this order', async ({
    source,
  }) => {
    source.serve({
      'POST Patient/$match': { status: 404 },
      ...byParameter('nothing', adaAtSource),
    });
    expect(await source.begin()).toMatchObject({ kind: 'unknown-patient' });
    expect(searched(source)).toEqual([
      'family+given+birthdate',
      'birthdate+name',
      'birthdate+address-postalcode',
      'birthdate+phone',
      'birthdate+identifier',
      'family+given',
    ]);
    expect(
      source
        .askedFor('POST Patient/_search')
        .map(({ headers }) => headers['cache-control']),
    ).toEqual(Array.from({ length: 6 }, () => 'no-cache'));
  });

  test('is found by the first search that returns an acceptable Patient; further ones are not sent', async ({
    source,
  }) => {
    source.serve({
      'POST Patient/$match': { status: 404 },
      ...byParameter('address-postalcode', adaAtSource),
      ...everything,
    });
    expect(idsOf(await source.collect())).toEqual(['Condition/c1']);
    expect(searched(source)).toHaveLength(3);
  });

  test('is not searched by parameters that the server does not list', async ({
    source,
  }) => {
    source.serve({
      ...searchable('family', 'given', 'birthdate', 'address-postalcode'),
      'POST Patient/$match': { status: 404 },
      ...byParameter('nothing', adaAtSource),
    });
    await source.begin();
    expect(searched(source)).toEqual([
      'family+given+birthdate',
      'birthdate+given',
      'birthdate+address-postalcode',
      'family+given',
    ]);
  });

  test('is also searched after a $match without a result, if the server lists the birth date', async ({
    source,
  }) => {
    source.serve({
      ...searchable('birthdate', 'phone', 'address-postalcode'),
      'POST Patient/$match': { json: bundle([]) },
      ...byParameter('phone', adaAtSource),
      ...everything,
    });
    expect(idsOf(await source.collect())).toEqual(['Condition/c1']);
    expect(searched(source)).toEqual([
      'birthdate+address-postalcode',
      'birthdate+phone',
    ]);
    source.routes['GET metadata'] = { status: 404 };
    source.asked.length = 0;
    expect(await source.begin()).toEqual({ kind: 'unknown-patient' });
    expect(searched(source)).toEqual([]);
  });

  test('is not searched further at a server that ignores the birth date', async ({
    source,
  }) => {
    source.serve({
      'POST Patient/$match': { status: 404 },
      ...byParameter('name', adaAtSource, {
        ...namesake,
        birthDate: '1950-01-01',
      }),
    });
    expect(await source.begin()).toEqual({ kind: 'unknown-patient' });
    expect(searched(source)).toHaveLength(1);
  });

  test('is found although the server refuses the exact search; if it refuses all, the refusal is reported', async ({
    source,
  }) => {
    source.serve({
      'POST Patient/$match': { status: 404 },
      'POST Patient/_search': ({ body }) =>
        body.includes('postalcode')
          ? { json: bundle([adaAtSource]) }
          : { status: 400 },
      ...everything,
    });
    expect(idsOf(await source.collect())).toEqual(['Condition/c1']);
    source.routes['POST Patient/_search'] = { status: 400 };
    await expect(source.begin()).rejects.toMatchObject({
      kind: 'refused',
      message: 'hie answered 400 to Patient/_search',
    });
  });

  test('is never named in an address, whichever parameter a next link repeats', async ({
    source,
  }) => {
    let posts = 0;
    source.serve({
      'POST Patient/$match': { status: 404 },
      'POST Patient/_search': ({ body }) => {
        posts += 1;
        const next = posts % 2 === 1 ? `Patient?${body}&page=2` : undefined;
        return { json: bundle([], next) };
      },
    });
    expect(await source.begin()).toEqual({ kind: 'unknown-patient' });
    expect(posts).toBe(12);
    expect(source.asked.some(({ path }) => path.includes('page=2'))).toBe(
      false,
    );
  });
});

describe('Patient.link', () => {
  const linked = (id: string, other: string, type = 'seealso') => ({
    ...adaAtSource,
    id,
    link: [{ other: { reference: other }, type }],
  });
  const nothing = { json: bundle([]) };

  test('is followed, round circles too, to records that agree with the person', async ({
    source,
  }) => {
    source.serve({
      'POST Patient/$match': {
        json: bundle([linked('p1', 'Patient/p2', 'replaced-by')]),
      },
      'GET Patient/p2': () => ({
        json: {
          ...linked('p2', `${source.baseUrl}/Patient/p3`),
          address: undefined,
        },
      }),
      'GET Patient/p3': { json: linked('p3', 'Patient/p1') },
      'GET Patient/p1/$everything': nothing,
      'GET Patient/p2/$everything': {
        json: bundle([condition('c2', 'Patient/p2')]),
      },
      'GET Patient/p3/$everything': {
        json: bundle([condition('c3', 'Patient/p3')]),
      },
    });
    expect(idsOf(await source.collect())).toEqual([
      'Condition/c2',
      'Condition/c3',
    ]);
  });

  test('to somebody else, to a record that is gone, or to another server brings nothing', async ({
    source,
  }) => {
    const link = [
      { other: { reference: 'Patient/p9' }, type: 'seealso' },
      { other: { reference: 'Patient/gone' }, type: 'replaces' },
      {
        other: { reference: 'https://elsewhere.example/fhir/Patient/p7' },
        type: 'refer',
      },
      { other: { reference: 'RelatedPerson/r1' }, type: 'seealso' },
      { other: {} },
      'nonsense',
    ];
    source.serve({
      'POST Patient/$match': { json: bundle([{ ...adaAtSource, link }]) },
      'GET Patient/p9': { json: somebodyElse },
      'GET Patient/gone': { status: 410 },
      'GET Patient/p1/$everything': nothing,
    });
    await source.collect();
    const read = source.asked.map(({ path }) => path.split('?')[0]);
    expect(read).toEqual([
      'metadata',
      'Patient/$match',
      'Patient/p9',
      'Patient/gone',
      'Patient/p1/$everything',
    ]);
  });

  test('is followed to ten records and no further', async ({ source }) => {
    const link = Array.from({ length: 40 }, (_, n) => ({
      other: { reference: `Patient/x${n}` },
      type: 'seealso',
    }));
    source.serve({
      'POST Patient/$match': { json: bundle([{ ...adaAtSource, link }]) },
      'GET Patient/p1/$everything': nothing,
    });
    await source.collect();
    expect(source.askedFor('GET Patient/x')).toHaveLength(9);
  });
});
