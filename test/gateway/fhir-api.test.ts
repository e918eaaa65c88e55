import type {
  Bundle,
  CapabilityStatement,
  Condition,
  DocumentReference,
  Observation,
  OperationOutcome,
} from 'fhir/r4.js';
import { sql } from 'kysely';
import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { insertAccount } from '../../src/exchange/access/accounts/account-store.ts';
import { claimKeys } from '../../src/exchange/people/patients/patient-store.ts';
import { identityKeys } from '../../src/exchange/people/patients/rules/identity-keys.ts';
import type { ConsolidatedResource } from '../../src/exchange/records/reading/read-consolidated.ts';
import { delivery, personOf, samples } from '../support/deliveries.ts';
import {
  createFhirDoor,
  diagnosticsIn,
  FHIR_BASE,
  type FhirDoor,
  idsIn,
  inMode,
} from '../support/fhir-door.ts';
import { fhirIssues } from '../support/fhir-issues.ts';
import { TEST_ID_HMAC_KEY } from '../support/test-keys.ts';

const [sample] = samples.filter(({ key }) => key === 'keith-kiehn');
if (sample === undefined) throw new Error('the sample is gone');
const person = personOf(sample);

/**
 * Parameters of the searches that a server SHALL support for the profiles of a
 * type (US Core's CapabilityStatement).
 */
const DEMANDED_BY_US_CORE: Readonly<Record<string, string[]>> = {
  CarePlan: ['patient', 'category'],
  CareTeam: ['patient', 'status'],
  Condition: ['patient', 'category'],
  DiagnosticReport: ['patient', 'category', 'code', 'date'],
  DocumentReference: ['_id', 'patient', 'category', 'type', 'date'],
  Encounter: ['_id', 'patient', 'date'],
  Location: ['name', 'address'],
  MedicationRequest: ['patient', 'intent', 'status'],
  Observation: ['patient', 'category', 'code', 'date'],
  Organization: ['name', 'address'],
  Patient: ['_id', 'identifier', 'name', 'birthdate', 'gender'],
  Practitioner: ['name', 'identifier'],
  PractitionerRole: ['specialty', 'practitioner'],
  Procedure: ['patient', 'date'],
  ServiceRequest: ['_id', 'patient', 'category', 'code', 'authored'],
};

let door: FhirDoor;
let patientId: string;
let record: ConsolidatedResource[];
beforeAll(async () => {
  door = await createFhirDoor();
  patientId = await door.addSample(sample);
  await door.records.merge(door.accountId, patientId);
  record = await door.read(patientId);
});
afterAll(() => door.close());

const ofType = <T>(type: string): T[] =>
  record
    .filter(({ resourceType }) => resourceType === type)
    .map(({ content }) => content as T);
const observations = () => ofType<Observation>('Observation');
const idsOf = (resources: readonly { id?: string }[]) =>
  resources.map(({ id }) => id).sort();
const search = (type: string, query = '') =>
  door.pages(`${type}?patient=${patientId}&_count=40${query}`);

describe('a search', () => {
  test('of a type finds each of its resources once, page by page, and valid FHIR', async () => {
    const pages = await search('Observation');
    expect(pages.length).toBeGreaterThan(1);
    expect(idsIn(pages).sort()).toEqual(idsOf(observations()));
    for (const page of pages) {
      expect(fhirIssues(page)).toEqual([]);
      expect(inMode(page, 'match').length).toBeLessThanOrEqual(40);
      for (const { fullUrl, resource } of page.entry ?? [])
        if (resource?.resourceType !== 'OperationOutcome')
          expect(fullUrl).toBe(
            `${FHIR_BASE}/${resource?.resourceType}/${resource?.id}`,
          );
    }
  });

  test.each([
    [
      'code=http://loinc.org|8302-2',
      ({ code }: Observation) => hasCode(code, '8302-2'),
    ],
    ['code=8302-2', ({ code }: Observation) => hasCode(code, '8302-2')],
    [
      'code=http://loinc.org|8302-2,http://loinc.org|29463-7',
      ({ code }: Observation) =>
        hasCode(code, '8302-2') || hasCode(code, '29463-7'),
    ],
    ['code=http://snomed.info/sct|8302-2', () => false],
    ['code=|8302-2', () => false],
    ['code=http://loinc.org|', () => true],
    ['category=laboratory', (each: Observation) => isLaboratory(each)],
    [
      'category=laboratory&code=http://loinc.org|2339-0',
      (each: Observation) => isLaboratory(each) && hasCode(each.code, '2339-0'),
    ],
    ['status=final', ({ status }: Observation) => status === 'final'],
    [
      'status=http://hl7.org/fhir/observation-status|final',
      ({ status }: Observation) => status === 'final',
    ],
    ['date=ge2015', (each: Observation) => dayOf(each) >= '2015-01-01'],
    ['date=lt2015-01-01', (each: Observation) => dayOf(each) < '2015-01-01'],
    ['date=2015', (each: Observation) => dayOf(each).startsWith('2015')],
    ['date=ne2015', (each: Observation) => !dayOf(each).startsWith('2015')],
    [
      'date=gt2014&date=eb2016',
      (each: Observation) => /^2015/.test(dayOf(each)),
    ],
    [
      'category=vital-signs&date=sa2015-06',
      (each: Observation) =>
        !isLaboratory(each) && isVital(each) && dayOf(each) > '2015-06-30',
    ],
  ])(
    'by %s finds what a look at the whole record finds',
    async (query, isWanted) => {
      const wanted = idsOf(observations().filter(isWanted));
      expect(idsIn(await search('Observation', `&${query}`)).sort()).toEqual(
        wanted,
      );
    },
  );

  test('by a time compares instants, by a day the day that the source wrote', async () => {
    const [one] = observations().filter(({ effectiveDateTime }) =>
      effectiveDateTime?.includes('T'),
    );
    const at = String(one?.effectiveDateTime);
    const by = async (date: string) =>
      idsIn(
        await search('Observation', `&date=${encodeURIComponent(date)}`),
      ).includes(String(one?.id));
    expect(await by(at)).toBe(true);
    expect(await by(at.slice(0, 10))).toBe(true);
    expect(
      await by(new Date(Date.parse(at)).toISOString().slice(0, 19).concat('Z')),
    ).toBe(true);
    expect(await by(`gt${at}`)).toBe(false);
    expect(await by(`le${at}`)).toBe(true);
  });

  test('matches what the consolidated resource says, not what one of its deliveries says', async () => {
    const other = await door.addPatient(person);
    const glucose = (
      id: string,
      lastUpdated: string,
      categories: string[],
    ) => ({
      resourceType: 'Observation',
      id,
      meta: { lastUpdated },
      status: 'final',
      subject: { reference: 'Patient/p' },
      ...(categories.length > 0 && {
        category: categories.map((code) => ({ coding: [{ code }] })),
      }),
      code: { coding: [{ system: 'http://loinc.org', code: id.slice(0, 6) }] },
      effectiveDateTime: '2026-05-01T10:00:00Z',
      valueQuantity: {
        value: 90,
        unit: 'mg/dL',
        system: 'http://unitsofmeasure.org',
        code: 'mg/dL',
      },
    });
    const from = (source: 'hie' | 'lab', ...resources: object[]) =>
      door.deliver(
        other,
        source,
        resources.map((each) => delivery(source, each)),
        ['p'],
      );
    await from(
      'hie',
      glucose('2339-0a', '2026-06-02T00:00:00Z', ['exam']),
      glucose('2345-7a', '2026-06-02T00:00:00Z', []),
    );
    await from(
      'lab',
      glucose('2339-0b', '2026-06-01T00:00:00Z', ['laboratory']),
      glucose('2345-7b', '2026-06-01T00:00:00Z', ['laboratory']),
    );
    const codes = async (category: string) =>
      (await door.pages(`Observation?patient=${other}&category=${category}`))
        .flatMap((page) => inMode(page, 'match') as Observation[])
        .map(({ code }) => code.coding?.[0]?.code);
    expect(
      idsIn(await door.pages(`Observation?patient=${other}`)),
    ).toHaveLength(2);
    expect(await codes('exam')).toEqual(['2339-0']);
    // The leading delivery has no category, so that of the other one fills it;
    // a different one is not replaced.
    expect(await codes('laboratory')).toEqual(['2345-7']);
  });

  test('by onset, recorded date and clinical status finds Conditions', async () => {
    const conditions = ofType<Condition>('Condition');
    const active = conditions.filter(({ clinicalStatus }) =>
      hasCode(clinicalStatus, 'active'),
    );
    expect(
      idsIn(await search('Condition', '&clinical-status=active')).sort(),
    ).toEqual(idsOf(active));
    const early = conditions.filter(
      ({ onsetDateTime = '9' }) => onsetDateTime < '2010',
    );
    expect(
      idsIn(await search('Condition', '&onset-date=lt2010')).sort(),
    ).toEqual(idsOf(early));
  });

  test('includes what the matches refer to, and their Provenance, once each', async () => {
    const pages = await search(
      'MedicationRequest',
      '&_include=MedicationRequest:encounter&_revinclude=Provenance:target',
    );
    for (const page of pages) {
      const included = inMode(page, 'include');
      expect(new Set(included.map(({ id }) => id)).size).toBe(included.length);
      const encounters = new Set(
        inMode(page, 'match').flatMap(
          (each) =>
            (each as { encounter?: { reference?: string } }).encounter
              ?.reference ?? [],
        ),
      );
      const types = included.map(({ resourceType }) => resourceType);
      expect(types.filter((type) => type === 'Encounter')).toHaveLength(
        encounters.size,
      );
      expect(types.filter((type) => type === 'Provenance')).toHaveLength(
        inMode(page, 'match').length,
      );
    }
  });

  test('includes resources of one type only, where the include names one', async () => {
    const typesBy = async (include: string) => {
      const found = await door.bundle(
        `Observation?patient=${patientId}&_count=500&_include=${include}`,
      );
      return [
        ...new Set(
          inMode(found, 'include').map(({ resourceType }) => resourceType),
        ),
      ].sort();
    };
    expect(await typesBy('Observation:subject')).toEqual(['Patient']);
    expect(await typesBy('Observation:subject:Patient')).toEqual(['Patient']);
    expect(await typesBy('Observation:subject:Group')).toEqual([]);
  });

  test('can be sent as a form, and its next link discloses nothing of it', async () => {
    const response = await door.call(
      'POST',
      'Observation/_search?_count=1',
      { 'content-type': 'application/x-www-form-urlencoded' },
      `patient=Patient/${patientId}&category=laboratory`,
    );
    const page: Bundle = response.json();
    expect(inMode(page, 'match')).toHaveLength(1);
    const next =
      page.link?.find(({ relation }) => relation === 'next')?.url ?? '';
    expect(next).not.toContain('laboratory');
    expect(Buffer.from(next, 'base64url').toString('latin1')).not.toContain(
      'laboratory',
    );
    const [second] = await door.pages(next);
    expect(second && idsIn([second])).toHaveLength(1);
    expect(second && idsIn([second])).not.toEqual(idsIn([page]));
    // A changed cursor, and one of another search.
    for (const url of [
      next.replace('Observation', 'Condition'),
      `${next.slice(0, -8)}AAAAAAAA`,
    ])
      expect((await door.get(url)).statusCode).toBe(400);
  });

  test('keeps every parameter after an unescaped question mark', async () => {
    const one = await door.bundle(
      `Observation?patient=${patientId}&_tag=a?b&_count=1&date=gt2015&_total=accurate`,
    );
    const other = await door.bundle(
      `Observation?patient=${patientId}&_count=1&date=gt2015&_total=accurate`,
    );
    expect(one.total).toBe(other.total);
    expect(inMode(one, 'match')).toHaveLength(1);
  });

  test('ignores an unknown parameter with a warning, and rejects it with strict handling', async () => {
    const [page] = await search('Observation', '&colour=blue');
    const outcome = page && (inMode(page, 'outcome')[0] as OperationOutcome);
    expect(outcome && diagnosticsIn(outcome)).toContain('colour');
    expect(page?.link?.[0]?.url).not.toContain('colour');
    const strict = await door.get(
      `Observation?patient=${patientId}&colour=blue`,
      {
        prefer: 'handling=strict',
      },
    );
    expect(strict.statusCode).toBe(400);
    expect(strict.headers['content-type']).toContain('application/fhir+json');
    expect(strict.json().resourceType).toBe('OperationOutcome');
  });

  test.each([
    ['Observation', 'patient'],
    ['Observation?patient=someone', 'patient'],
    ['Observation?patient={id}&date=yesterday', 'date'],
    ['Observation?patient={id}&code:not=8302-2', 'modifier'],
    ['Observation?patient={id}&_id:not=x', 'modifier'],
    ['Observation?patient={id}&_lastUpdated:missing=true', 'modifier'],
    ['Observation?_id={id}&patient:identifier=x', 'modifier'],
    ['Patient?_id:not={id}', 'modifier'],
    ['Patient?identifier=urn:medical-exchange:external-id|', 'identifier'],
    [
      'Patient?gender=male,http://hl7.org/fhir/administrative-gender|',
      'gender',
    ],
    ['Observation?patient={id}&_count=few', '_count'],
    ['Observation?patient={id}&_elements=value.code', '_elements'],
    ['Observation?patient={id}&_lastUpdated=soon', '_lastUpdated'],
    [`Observation?patient={id}&code=${'x'.repeat(4_000)}`, '4000'],
  ])('refuses %s', async (path, named) => {
    const response = await door.get(path.replace('{id}', patientId));
    expect(response.statusCode).toBe(400);
    expect(diagnosticsIn(response.json())).toContain(named);
    expect(fhirIssues(response.json())).toEqual([]);
  });

  test.each([
    'toString=2020-01-01',
    'constructor=x',
    '__proto__=x',
    '_include=Observation:toString',
  ])('takes %s for what it is: nothing that is known here', async (query) => {
    const found = await door.bundle(
      `Observation?patient=${patientId}&_count=2&${query}`,
    );
    expect(inMode(found, 'match')).toHaveLength(2);
    expect(
      diagnosticsIn(inMode(found, 'outcome')[0] as OperationOutcome),
    ).toContain('was ignored');
    const strict = await door.get(`Observation?patient=${patientId}&${query}`, {
      prefer: 'handling=strict',
    });
    expect(strict.statusCode).toBe(400);
  });

  test('counts with _count=0, and takes the whole URL of a Patient for its id, but not that of another server', async () => {
    const counted = await door.get(`Observation?patient=${patientId}&_count=0`);
    expect(counted.json()).toMatchObject({ total: expect.any(Number) });
    expect(
      (counted.json().entry ?? []).filter(
        ({ search: { mode } }: { search: { mode: string } }) =>
          mode === 'match',
      ),
    ).toEqual([]);
    const self = counted.json().link[0].url as string;
    const base = self.slice(0, self.indexOf('/Observation'));
    const whole = await door.get(
      `Observation?patient=${encodeURIComponent(`${base}/Patient/${patientId}`)}&_count=0`,
    );
    expect(whole.json().total).toBe(counted.json().total);
    const other = await door.get(
      `Observation?patient=https://other.example/Patient/${patientId}`,
    );
    expect(other.statusCode).toBe(400);
  });

  test.each([
    ['_format=xml', {}],
    ['_format=application/fhir+xml', {}],
    ['', { accept: 'application/fhir+xml' }],
  ])('serves no XML, and says so: %s %o', async (format, headers) => {
    const response = await door.get(
      `Observation?patient=${patientId}&${format}`,
      headers,
    );
    expect(response.statusCode).toBe(406);
    expect(diagnosticsIn(response.json())).toContain('_format=json');
    const both = await door.get(`Observation?patient=${patientId}&_count=0`, {
      accept: 'text/html, */*;q=0.1',
    });
    expect(both.statusCode).toBe(200);
  });

  test('by _lastUpdated finds what changed in our record since', async () => {
    const [before] = await search('Condition');
    const times = inMode(
      before ?? { resourceType: 'Bundle', type: 'searchset' },
      'match',
    ).map(({ meta }) => meta?.lastUpdated ?? '');
    const newest = times.sort().at(-1) ?? '';
    expect(
      idsIn(await search('Condition', `&_lastUpdated=gt${newest}`)),
    ).toEqual([]);
    const other = await door.addSample(sample);
    const condition = {
      resourceType: 'Condition',
      id: 'new-one',
      subject: { reference: 'Patient/p' },
      code: { text: 'Gout' },
    };
    await door.records.merge(door.accountId, other);
    const then = new Date().toISOString();
    await door.deliver(other, 'hie', [delivery('hie', condition)], ['p']);
    const found = await door.pages(
      `Condition?patient=${other}&_lastUpdated=ge${then}`,
    );
    expect(
      found
        .flatMap((page) => inMode(page, 'match'))
        .map((each) => (each as Condition).code?.text),
    ).toEqual(['Gout']);
  });

  test.each([
    ['-date', (each: Observation) => dayOf(each)],
    ['date', (each: Observation) => dayOf(each)],
    ['-_lastUpdated', ({ meta }: Observation) => String(meta?.lastUpdated)],
    ['_lastUpdated', ({ meta }: Observation) => String(meta?.lastUpdated)],
  ])(
    'sorted by %s has each match once, in that order, over all pages',
    async (sort, keyOf) => {
      await door.store.asAccount(door.accountId, (tx) =>
        sql`update record_resource set changed_at = changed_at - (('x' || right(resource_id::text, 2))::bit(8)::int || ' s')::interval
        where patient_id = ${patientId} and resource_type = 'Observation'`.execute(
          tx.db,
        ),
      );
      const pages = await search('Observation', `&_sort=${sort}`);
      const matches = pages.flatMap(
        (page) => inMode(page, 'match') as Observation[],
      );
      expect(idsOf(matches)).toEqual(idsOf(observations()));
      const keys = matches.map(keyOf);
      const ordered = [...keys].sort();
      expect(new Set(keys).size).toBeGreaterThan(10);
      expect(keys).toEqual(sort.startsWith('-') ? ordered.reverse() : ordered);
    },
  );

  test('can only count its matches', async () => {
    const count = async (query: string) => {
      const page = await door.bundle(query);
      expect(
        page.entry?.some(({ search }) => search?.mode !== 'outcome') ?? false,
      ).toBe(false);
      return page.total;
    };
    const of = `Observation?patient=${patientId}`;
    expect(await count(`${of}&_summary=count`)).toBe(observations().length);
    expect(await count(`${of}&category=laboratory&_summary=count`)).toBe(
      observations().filter(isLaboratory).length,
    );
    const [one, two] = observations();
    expect(
      await count(`Observation?_id=${one?.id},${two?.id}&_summary=count`),
    ).toBe(2);
    const listed = (await door.pages('Patient')).flatMap((page) =>
      inMode(page, 'match'),
    );
    expect(await count('Patient?_summary=count')).toBe(listed.length);
    expect(await count('Patient?family=Nobody&_summary=count')).toBe(0);
  });

  test('returns the elements that were asked for, and those that no reader may miss, marked as a part', async () => {
    const [page] = await search(
      'Observation',
      '&_elements=value,Observation.effective[x]&_include=*',
    );
    const part = page && (inMode(page, 'match')[0] as Observation);
    const whole = observations().find(({ id }) => id === part?.id);
    expect(part?.status).toBe(whole?.status);
    expect(part?.code).toEqual(whole?.code);
    expect(part?.effectiveDateTime).toBe(whole?.effectiveDateTime);
    expect(part?.meta?.tag).toContainEqual(
      expect.objectContaining({ code: 'SUBSETTED' }),
    );
    expect(part).not.toHaveProperty('subject');
    expect(page && fhirIssues(page)).toEqual([]);
    const [data] = await search('Observation', '&_summary=data');
    expect(
      (data ? inMode(data, 'match') : []).every((each) => !('text' in each)),
    ).toBe(true);
    const [patients] = await door.pages('Patient?_elements=birthDate');
    expect(patients && inMode(patients, 'match')[0]).not.toHaveProperty('name');
  });

  test('says that the record is incomplete', async () => {
    const page = await door.bundle(`Observation?patient=${patientId}&_count=1`);
    const outcome = page && (inMode(page, 'outcome')[0] as OperationOutcome);
    expect(outcome && diagnosticsIn(outcome)).toContain(
      'This record is incomplete',
    );
    expect(page?.meta?.tag?.[0]?.code).toBe('incomplete');
  });
});

describe('reading', () => {
  test('returns the resource, and the Provenance that was generated for it', async () => {
    const [one] = observations();
    const response = await door.get(`Observation/${one?.id}`);
    expect(response.json()).toMatchObject({
      resourceType: 'Observation',
      id: one?.id,
      code: one?.code,
    });
    const [page] = await door.pages(
      `Observation?_id=${one?.id}&_revinclude=Provenance:target`,
    );
    const [provenance] = page ? inMode(page, 'include') : [];
    expect((await door.get(`Provenance/${provenance?.id}`)).json()).toEqual(
      provenance,
    );
    expect((await door.get(`Condition/${one?.id}`)).statusCode).toBe(404);
    expect((await door.get(`Observation/${uuidv7()}`)).statusCode).toBe(404);
    expect((await door.get('Observation/1')).statusCode).toBe(404);
    expect((await door.get('Colour/1')).json().resourceType).toBe(
      'OperationOutcome',
    );
  });

  test('gives what the addresses in a consolidated Bundle name', async () => {
    const response = await door.gateway.app.inject({
      url: `/medical/v1/patient/${patientId}/consolidated`,
      headers: { 'x-api-key': door.apiKey },
    });
    const { entry = [] }: Bundle = response.json();
    const oneOfEach = new Map(
      entry.map(({ fullUrl, resource }) => [
        resource?.resourceType,
        { fullUrl, resource },
      ]),
    );
    expect(oneOfEach.size).toBeGreaterThan(10);
    for (const { fullUrl, resource } of oneOfEach.values())
      expect((await door.get(String(fullUrl))).json()).toMatchObject({
        resourceType: resource?.resourceType,
        id: resource?.id,
      });
  });

  test('answers 410 once the source has deleted or moved it, and a search no longer finds it', async () => {
    const other = await door.addPatient(person);
    const condition = (subject: string) => ({
      resourceType: 'Condition',
      id: 'c',
      subject: { reference: `Patient/${subject}` },
      code: { text: 'Gout' },
    });
    await door.deliver(other, 'hie', [delivery('hie', condition('p'))], ['p']);
    const [id] = idsIn(await door.pages(`Condition?patient=${other}`));
    expect((await door.get(`Condition/${id}`)).statusCode).toBe(200);
    await door.deliver(
      other,
      'hie',
      [delivery('hie', condition('another'))],
      ['p'],
    );
    expect((await door.get(`Condition/${id}`)).statusCode).toBe(410);
    expect((await door.get(`Condition/${id}`)).statusCode).toBe(410);
    expect(idsIn(await door.pages(`Condition?patient=${other}`))).toEqual([]);
  });
});

describe('Patients', () => {
  const first = person.firstNames[0] ?? '';
  const last = person.lastNames[0] ?? '';
  test.each([
    ['name', first.slice(0, 3).toLowerCase()],
    ['family', last],
    ['family:exact', last],
    ['given:contains', first.slice(1)],
    ['birthdate', person.dob],
    ['birthdate', person.dob.slice(0, 4)],
    ['identifier', person.externalId ?? ''],
    ['identifier', `urn:medical-exchange:external-id|${person.externalId}`],
    ['_id', 'id'],
  ])('are found by %s', async (name, value) => {
    const found = await door.pages(
      `Patient?${name}=${encodeURIComponent(value === 'id' ? patientId : value)}`,
    );
    expect(idsIn(found)).toContain(patientId);
  });

  test.each([
    'family=Nobodyhere',
    'birthdate=1890-01-01',
    'identifier=urn:x|1',
    `identifier=|${person.externalId}`,
    'given:exact=x',
    'gender=other',
    'name=.*',
  ])('are not found by %s', async (query) =>
    expect(idsIn(await door.pages(`Patient?${query}`))).toEqual([]),
  );

  test('are found by names without accents and case, on either side; exactly only as they are written', async () => {
    const id = await door.addPatient({
      ...person,
      firstNames: ['Zoë'],
      lastNames: ['Núñez'],
    });
    const found = async (query: string) =>
      idsIn(await door.pages(`Patient?${query}`)).includes(id);
    for (const query of [
      'family=nunez',
      'family=NUÑEZ',
      'name=zoe&family=núñ',
      'given:contains=OE',
    ])
      expect([query, await found(encodeURI(query))]).toEqual([query, true]);
    expect(await found('family:exact=Nunez')).toBe(false);
    expect(await found(encodeURI('family:exact=Núñez'))).toBe(true);
    const ofTwoWords = await door.addPatient({
      ...person,
      lastNames: ['De La Cruz'],
    });
    const exactly = async (query: string) =>
      idsIn(await door.pages(`Patient?${query}`)).includes(ofTwoWords);
    for (const query of [
      'family:exact=De La Cruz',
      'name:exact=De La Cruz',
      'family=De Cruz',
    ])
      expect([query, await exactly(query)]).toEqual([query, true]);
    for (const query of ['family:exact=Cruz', 'family:exact=De Cruz'])
      expect([query, await exactly(query)]).toEqual([query, false]);
  });

  test('are listed page by page, each once', async () => {
    const all = idsIn(await door.pages('Patient?_count=1'));
    expect(all).toContain(patientId);
    expect(new Set(all).size).toBe(all.length);
  });

  test('$match uses the rule of the interface', async () => {
    // Of a name of its own: the other tests have several patients of one
    // description.
    const matched = { ...person, firstNames: ['Matched'] };
    const id = await door.addPatient(matched);
    const keys = identityKeys(TEST_ID_HMAC_KEY, door.accountId, matched);
    await door.store.asAccount(door.accountId, (tx) => claimKeys(tx, id, keys));
    await door.deliver(
      id,
      'hie',
      [delivery('hie', { resourceType: 'Patient', id: 'p' })],
      ['p'],
    );
    const [address] = sample.createBody.address;
    const patient = {
      resourceType: 'Patient',
      name: [{ family: last.toUpperCase(), given: ['MATCHED'] }],
      birthDate: person.dob,
      gender: person.gender === 'M' ? 'male' : 'female',
      address: [{ postalCode: address?.zip }],
    };
    const match = (body: object, headers = {}) =>
      door.call(
        'POST',
        'Patient/$match',
        { 'content-type': 'application/fhir+json', ...headers },
        JSON.stringify(body),
      );
    const parameters = {
      resourceType: 'Parameters',
      parameter: [{ name: 'resource', resource: patient }],
    };
    const bundle: Bundle = (await match(parameters)).json();
    expect(idsIn([bundle])).toEqual([id]);
    expect(bundle.entry?.[0]?.search).toMatchObject({
      mode: 'match',
      score: 0.7,
    });
    const street = {
      line: [address?.addressLine1, address?.addressLine2].filter(Boolean),
      postalCode: address?.zip,
    };
    const better: Bundle = (
      await match({ ...patient, address: [street] })
    ).json();
    expect(better.entry?.[0]?.search?.score).toBe(0.8);
    expect(fhirIssues(bundle)).toEqual([]);
    const stranger = { 'x-api-key': (await otherAccount()).apiKey };
    expect(idsIn([(await match(parameters, stranger)).json()])).toEqual([]);
    const { address: _, ...without } = patient;
    const response = await match(without);
    expect(response.statusCode).toBe(400);
    expect(diagnosticsIn(response.json())).toContain('postalCode');
  });

  test('$everything gives the whole record, at once or in pages', async () => {
    const whole = await door.bundle(`Patient/${patientId}/$everything`);
    const all = idsOf(record.map(({ id }) => ({ id })));
    expect(idsIn([whole]).sort()).toEqual(all);
    const pages = await door.pages(
      `Patient/${patientId}/$everything?_count=100`,
    );
    expect(pages.length).toBeGreaterThan(2);
    expect(idsIn(pages).sort()).toEqual(all);
    const some = await door.bundle(
      `Patient/${patientId}/$everything?_type=Condition`,
    );
    expect(idsIn([some]).sort()).toEqual(idsOf(ofType('Condition')));
    const parameter = [
      { name: '_type', valueCode: 'Condition' },
      { name: '_type', valueCode: 'Encounter' },
    ];
    const parameters = { resourceType: 'Parameters', parameter };
    const posted = await door.call(
      'POST',
      `Patient/${patientId}/$everything`,
      {},
      parameters,
    );
    const both = idsOf([
      ...ofType<Condition>('Condition'),
      ...ofType<Condition>('Encounter'),
    ]);
    expect(idsIn([posted.json()]).sort()).toEqual(both);
    const other = await door.call(
      'POST',
      `Patient/${patientId}/$everything`,
      {},
      { _type: 'Condition' },
    );
    expect(other.statusCode).toBe(400);
    const since = encodeURIComponent(
      new Date(Date.now() + 60_000).toISOString(),
    );
    expect(
      (await door.bundle(`Patient/${patientId}/$everything?_since=${since}`))
        .entry,
    ).toBeUndefined();
    expect((await door.get(`Patient/${uuidv7()}/$everything`)).statusCode).toBe(
      404,
    );
  });
});

describe('$docref', () => {
  const docref = (query = '') =>
    door.pages(`DocumentReference/$docref?patient=${patientId}${query}`);
  const documents = () => ofType<DocumentReference>('DocumentReference');
  const current = () =>
    documents().filter(({ status }) => status === 'current');
  const post = (contentType: string, body: string | object) =>
    door.call(
      'POST',
      'DocumentReference/$docref',
      { 'content-type': contentType },
      body,
    );
  const careOf = ({ context, date }: DocumentReference) =>
    (context?.period?.start ?? date ?? '').slice(0, 10);

  test('returns the current documents of the patient, page by page, by GET, as a form and as Parameters', async () => {
    const wanted = idsOf(current());
    expect(wanted.length).toBeGreaterThan(1);
    const pages = await docref('&_count=1');
    expect(pages.length).toBeGreaterThan(1);
    for (const page of pages) expect(fhirIssues(page)).toEqual([]);
    const parameter = [{ name: 'patient', valueId: patientId }];
    const posted = await post('application/fhir+json', {
      resourceType: 'Parameters',
      parameter,
    });
    const form = await post(
      'application/x-www-form-urlencoded',
      `patient=${patientId}`,
    );
    for (const found of [await docref(), pages, [posted.json()], [form.json()]])
      expect(idsIn(found).sort()).toEqual(wanted);
  });

  test('takes the days of care, and with them what a newer document superseded', async () => {
    const days = documents().map(careOf).sort();
    const middle = days[Math.floor(days.length / 2)] ?? '';
    const since = idsIn(await docref(`&start=${middle}`));
    const until = idsIn(await docref(`&end=${middle}`));
    expect(since.length).toBeGreaterThan(0);
    expect(since.length).toBeLessThan(documents().length);
    expect(new Set([...since, ...until]).size).toBe(documents().length);
    for (const document of documents())
      if (careOf(document) > middle) expect(until).not.toContain(document.id);
    expect(idsIn(await docref('&start=2100-01-01'))).toEqual([]);
  });

  test('takes types, also as concepts, and has nothing that is made on demand', async () => {
    const [coding] = current()[0]?.type?.coding ?? [];
    const typed = current().filter((each) =>
      each.type?.coding?.some(({ code }) => code === coding?.code),
    );
    const type = encodeURIComponent(`${coding?.system}|${coding?.code}`);
    expect(idsIn(await docref(`&type=${type}`)).sort()).toEqual(idsOf(typed));
    const parameter = [
      {
        name: 'patient',
        valueReference: { reference: `Patient/${patientId}` },
      },
      { name: 'type', valueCodeableConcept: { coding: [coding] } },
    ];
    const posted = await post('application/fhir+json', {
      resourceType: 'Parameters',
      parameter,
    });
    expect(idsIn([posted.json()]).sort()).toEqual(idsOf(typed));
    expect(idsIn(await docref('&type=http://loinc.org|1-8'))).toEqual([]);
    expect(idsIn(await docref('&on-demand=true'))).toEqual([]);
  });

  test('counts what it finds', async () => {
    const middle =
      documents().map(careOf).sort()[Math.floor(documents().length / 2)] ?? '';
    for (const query of [
      `&start=${middle}`,
      `&end=${middle}`,
      '&on-demand=true',
      '',
    ]) {
      const found = idsIn(await docref(query));
      for (const count of ['&_summary=count', '&_count=0']) {
        const [page] = await docref(`${query}${count}`);
        expect([query, page?.total, page?.entry?.length ?? 0]).toEqual([
          query,
          found.length,
          1,
        ]);
        expect(page?.link?.[0]?.url).toContain('/DocumentReference/$docref?');
      }
    }
  });

  test('needs a patient of the account, and days that are days', async () => {
    const status = async (path: string) =>
      (await door.get(`DocumentReference/$docref${path}`)).statusCode;
    expect(await status('')).toBe(400);
    expect(await status(`?patient=${uuidv7()}`)).toBe(404);
    expect(await status(`?patient=${patientId}&start=yesterday`)).toBe(400);
    const put = await door.gateway.app.inject({
      method: 'PUT',
      url: '/fhir/R4/DocumentReference/$docref',
    });
    expect([put.statusCode, put.headers.allow]).toEqual([405, 'GET, POST']);
  });
});

describe('access', () => {
  test('the statement of capabilities needs no key, is valid, and names what is served', async () => {
    const response = await door.gateway.app.inject({
      url: '/fhir/R4/metadata',
    });
    expect(fhirIssues(response.json())).toEqual([]);
    expect(
      response
        .json()
        .rest[0].resource.map(({ type }: { type: string }) => type),
    ).toContain('Observation');
  });

  test("every search that the statement declares is served, and profiles are named only where US Core's searches are", async () => {
    const statement: CapabilityStatement = (await door.get('metadata')).json();
    const types = statement.rest?.[0]?.resource;
    const values = {
      token: 'x',
      string: 'x',
      uri: 'x',
      date: '2020',
      reference: `Patient/${patientId}`,
    };
    let run = 0;
    /** One search with all of these; returns how many resources it finds. */
    const serve = async (type: string, searches: string[]) => {
      if (searches.length === 0) return 0;
      const ofPatient = ['Patient', 'Subscription'].includes(type)
        ? []
        : [`patient=${patientId}`];
      const query = [...ofPatient, ...searches].join('&');
      const response = await door.get(`${type}?${query}`, {
        prefer: 'handling=strict',
      });
      expect([response.statusCode, type, query]).toEqual([200, type, query]);
      run += searches.length;
      return idsIn([response.json()]).length;
    };
    for (const {
      type,
      searchParam = [],
      supportedProfile,
      searchInclude = [],
    } of types ?? []) {
      const searches = searchParam.map(
        ({ name, type: kind }) =>
          `${name}=${values[kind as keyof typeof values]}`,
      );
      const found = await serve(
        type,
        searchInclude.map((name) => `_include=${name}`),
      );
      // Where there is nothing to compare with, the parameters are only read:
      // one search has them all.
      if (found === 0) await serve(type, searches);
      else for (const each of searches) await serve(type, [each]);
      const demanded = DEMANDED_BY_US_CORE[type] ?? [];
      const declared = searchParam.map(({ name }) => name);
      if (supportedProfile !== undefined)
        expect(declared, type).toEqual(expect.arrayContaining(demanded));
    }
    expect(run).toBeGreaterThan(150);
  });

  test('a key is accepted as bearer token; without a key or with one of another kind the answer is an OperationOutcome', async () => {
    const url = `/fhir/R4/Observation?patient=${patientId}&_count=1`;
    const as = (headers: Record<string, string>) =>
      door.gateway.app.inject({ url, headers });
    expect(
      (await as({ authorization: `Bearer ${door.apiKey}` })).statusCode,
    ).toBe(200);
    const writeOnly = await door.addKey(door.accountId, ['write']);
    for (const [headers, status] of [
      [{}, 401],
      [
        {
          authorization:
            'Bearer mdx_00000000_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA',
        },
        401,
      ],
      [{ 'x-api-key': writeOnly }, 403],
    ] as const) {
      const response = await as(headers as Record<string, string>);
      expect(response.statusCode).toBe(status);
      expect(response.json().resourceType).toBe('OperationOutcome');
    }
  });

  test('another account sees nothing', async () => {
    const headers = { 'x-api-key': (await otherAccount()).apiKey };
    const [one] = observations();
    for (const path of [
      `Patient/${patientId}`,
      `Observation/${one?.id}`,
      `Observation?patient=${patientId}`,
      `Patient/${patientId}/$everything`,
    ])
      expect((await door.get(path, headers)).statusCode, path).toBe(404);
    for (const path of [
      `Observation?_id=${one?.id}`,
      `Patient?_id=${patientId}`,
      'Patient',
    ])
      expect(idsIn([(await door.get(path, headers)).json()]), path).toEqual([]);
  });

  test('every patient whose data was read is in the audit', async () => {
    const count = async () => {
      const rows = await door.store.asAccount(door.accountId, (tx) =>
        tx.db
          .selectFrom('audit_entry')
          .select('operation')
          .where('patient_id', '=', patientId)
          .execute(),
      );
      return rows.map(({ operation }) => operation);
    };
    const before = (await count()).length;
    await door.get(`Observation?patient=${patientId}&_count=1`);
    await door.get(`Patient/${patientId}`);
    await door.get(`Patient?_id=${patientId}`);
    await door.get(`Patient/${patientId}/$everything?_count=1`);
    expect((await count()).slice(before).sort()).toEqual([
      'fhirEverything',
      'fhirRead',
      'fhirSearch',
      'fhirSearch',
    ]);
  });
});

async function otherAccount() {
  const id = uuidv7();
  await door.store.asSystem((tx) =>
    insertAccount(tx, { id, name: 'Other', settings: {} }),
  );
  return { apiKey: await door.addKey(id) };
}

const hasCode = (
  concept: { coding?: { code?: string }[] } | undefined,
  code: string,
): boolean => concept?.coding?.some((coding) => coding.code === code) ?? false;
const isLaboratory = ({ category }: Observation) =>
  category?.some((each) => hasCode(each, 'laboratory')) ?? false;
const isVital = ({ category }: Observation) =>
  category?.some((each) => hasCode(each, 'vital-signs')) ?? false;
const dayOf = ({ effectiveDateTime, effectivePeriod }: Observation): string =>
  (effectiveDateTime ?? effectivePeriod?.start ?? '').slice(0, 10);
