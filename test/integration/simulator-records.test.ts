import {
  afterAll,
  beforeAll,
  beforeEach,
  describe,
  expect,
  test,
} from 'vitest';
import { loadSamplePatients } from '../../src/local-stack/sample-patients.ts';
import {
  SOURCE_NAMES,
  type SourceName,
} from '../../src/local-stack/simulator/protocol.ts';
import {
  matchParameters,
  sample,
  startTestSimulator,
  type TestSimulator,
} from '../support/simulator.ts';

let simulator: TestSimulator;
beforeAll(async () => {
  simulator = await startTestSimulator();
});
afterAll(() => simulator.close());
beforeEach(() => simulator.admin.resetSettings());

interface Entry {
  resource: { resourceType: string; id: string };
}
const typesOf = (entries: Entry[]) =>
  [...new Set(entries.map(({ resource }) => resource.resourceType))].sort();

describe('finding a patient', () => {
  test('knows every sample as a certain match, by what a create request carries', async () => {
    for (const person of loadSamplePatients()) {
      const answer = await simulator.ask('hie', '/Patient/$match', {
        method: 'POST',
        json: matchParameters(person),
      });
      expect(answer.json).toMatchObject({ type: 'searchset', total: 1 });
      expect(answer.json.entry[0].search).toMatchObject({
        mode: 'match',
        score: 1,
        extension: [{ valueCode: 'certain' }],
      });
    }
  });

  test('gives the same person another id at each source, the same on every start', async () => {
    const second = await startTestSimulator();
    const ids = await Promise.all(
      SOURCE_NAMES.map((source) => simulator.patientId(source, sample())),
    );
    expect(new Set(ids).size).toBe(3);
    expect(await second.patientId('hie', sample())).toBe(ids[0]);
    await second.close();
  });

  test('answers an empty Bundle for a stranger', async () => {
    const stranger = matchParameters({
      ...sample(),
      createBody: {
        ...sample().createBody,
        lastName: 'Nobody',
        dob: '1970-01-01',
      },
    });
    const answer = await simulator.ask('hie', '/Patient/$match', {
      method: 'POST',
      json: stranger,
    });
    expect(answer.json).toMatchObject({
      resourceType: 'Bundle',
      total: 0,
      entry: [],
    });
  });

  test('leaves out a merely probable match when only certain ones are asked for', async () => {
    const { createBody } = sample();
    const moved = {
      ...createBody,
      address: createBody.address.map((address) => ({
        ...address,
        zip: '90210',
      })),
    };
    const ask = (onlyCertain: boolean) =>
      simulator.ask('hie', '/Patient/$match', {
        method: 'POST',
        json: matchParameters({ ...sample(), createBody: moved }, onlyCertain),
      });
    expect((await ask(true)).json.total).toBe(0);
    expect((await ask(false)).json.entry[0].search.extension[0].valueCode).toBe(
      'probable',
    );
  });

  test('searches by form without caring for case and accents', async () => {
    const form = {
      family: 'FUENTES250',
      given: 'adan600',
      birthdate: '2001-09-07',
      'address-postalcode': '01532',
    };
    const answer = await simulator.ask('lab', '/Patient/_search', {
      method: 'POST',
      form,
    });
    expect(answer.json.total).toBe(1);
    const none = await simulator.ask('lab', '/Patient/_search', {
      method: 'POST',
      form: { ...form, birthdate: '2001-09-08' },
    });
    expect(none.json.total).toBe(0);
  });

  test('answers everybody when it is set to ignore what it is asked', async () => {
    await simulator.admin.changeSettings({
      lab: { searchAnswersEverybody: true },
    });
    const form = { family: sample().createBody.lastName };
    const answer = await simulator.ask('lab', '/Patient/_search', {
      method: 'POST',
      form,
    });
    expect(answer.json.total).toBe(loadSamplePatients().length);
  });
});

describe('what a source holds', () => {
  test('pages $everything, and the pages together are the whole record, once', async () => {
    const id = await simulator.patientId('hie', sample());
    const entries: Entry[] = await simulator.allPages(
      'hie',
      `/Patient/${id}/$everything`,
    );
    const first = await simulator.ask('hie', `/Patient/${id}/$everything`);
    expect(first.json.entry).toHaveLength(200);
    expect(entries).toHaveLength(first.json.total);
    const identities = entries.map(
      ({ resource }) => `${resource.resourceType}/${resource.id}`,
    );
    expect(new Set(identities).size).toBe(identities.length);
    expect(typesOf(entries)).toEqual(
      expect.arrayContaining([
        'Condition',
        'Encounter',
        'Immunization',
        'Patient',
      ]),
    );
  });

  test.each<[SourceName, string[]]>([
    [
      'pharmacy',
      ['Medication', 'MedicationDispense', 'MedicationRequest', 'Patient'],
    ],
    ['lab', ['DiagnosticReport', 'Observation', 'Patient']],
  ])('%s knows only what such a source would know', async (source, types) => {
    await simulator.admin.changeSettings({ lab: { everything: true } });
    const id = await simulator.patientId(source, sample());
    const entries: Entry[] = await simulator.allPages(
      source,
      `/Patient/${id}/$everything`,
    );
    const shared = ['Organization', 'Practitioner'];
    expect(typesOf(entries).filter((type) => !shared.includes(type))).toEqual(
      types,
    );
  });

  test.each(SOURCE_NAMES)(
    '%s refers only to resources that it serves',
    async (source) => {
      await simulator.admin.changeSettings({ lab: { everything: true } });
      const id = await simulator.patientId(source, sample('adan-fuentes'));
      const entries: Entry[] = await simulator.allPages(
        source,
        `/Patient/${id}/$everything`,
      );
      const known = new Set(
        entries.map(
          ({ resource }) => `${resource.resourceType}/${resource.id}`,
        ),
      );
      const references = [
        ...JSON.stringify(entries).matchAll(/"reference":"([^"]+)"/g),
      ].map(([, target]) => target);
      expect(references.length).toBeGreaterThan(50);
      expect(
        references.filter((reference) => !known.has(reference ?? '')),
      ).toEqual([]);
    },
  );

  test('honours _type and _count', async () => {
    const id = await simulator.patientId('hie', sample());
    const answer = await simulator.ask(
      'hie',
      `/Patient/${id}/$everything?_type=Condition,Procedure&_count=5`,
    );
    expect(answer.json.entry).toHaveLength(5);
    const all: Entry[] = await simulator.allPages(
      'hie',
      `/Patient/${id}/$everything?_type=Condition,Procedure&_count=5`,
    );
    expect(typesOf(all)).toEqual(['Condition', 'Procedure']);
  });

  test('searches one type by patient, page by page, by GET and by form', async () => {
    const id = await simulator.patientId('lab', sample());
    const entries: Entry[] = await simulator.allPages(
      'lab',
      `/Observation?patient=Patient/${id}&_count=5`,
    );
    expect(typesOf(entries)).toEqual(['Observation']);
    const form = { patient: id, _count: '5', category: 'laboratory' };
    const posted = await simulator.ask('lab', '/Observation/_search', {
      method: 'POST',
      form,
    });
    expect(posted.json).toMatchObject({ total: entries.length });
    expect(posted.json.entry).toHaveLength(5);
  });

  test('offers the C-CDA document by DocumentReference, raw or as a Binary', async () => {
    const id = await simulator.patientId('hie', sample());
    const documents = await simulator.allPages(
      'hie',
      `/DocumentReference?patient=${id}`,
    );
    const urls = documents.flatMap(
      ({ resource }) => resource.content[0].attachment.url ?? [],
    );
    expect(urls).toHaveLength(1);
    const raw = await simulator.ask('hie', `/${urls[0]}`, {
      headers: { accept: 'application/xml' },
    });
    expect(raw.headers['content-type']).toBe('application/xml');
    expect(raw.text).toContain('<ClinicalDocument');
    const json = await simulator.ask('hie', `/${urls[0]}`, {
      headers: { accept: 'application/fhir+json' },
    });
    expect(json.json).toMatchObject({
      resourceType: 'Binary',
      contentType: 'application/xml',
    });
    expect(Buffer.from(json.json.data, 'base64').toString()).toBe(raw.text);
  });

  test('reads one resource by id, and knows no other', async () => {
    const id = await simulator.patientId('hie', sample());
    expect((await simulator.ask('hie', `/Patient/${id}`)).json.id).toBe(id);
    const [condition] = await simulator.allPages(
      'hie',
      `/Condition?patient=${id}`,
    );
    const read = await simulator.ask(
      'hie',
      `/Condition/${condition.resource.id}`,
    );
    expect(read.json).toEqual(condition.resource);
    expect((await simulator.ask('hie', '/Condition/unknown')).status).toBe(404);
    expect((await simulator.ask('pharmacy', `/Patient/${id}`)).status).toBe(
      404,
    );
  });
});
