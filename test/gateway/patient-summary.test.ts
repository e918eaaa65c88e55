import type { Bundle, Composition, FhirResource } from 'fhir/r4.js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readDisclosures } from '../../src/exchange/operations/audit/disclosure-store.ts';
import { delivery, personOf, samples } from '../support/deliveries.ts';
import {
  createFhirDoor,
  FHIR_BASE,
  type FhirDoor,
  resourcesIn,
} from '../support/fhir-door.ts';

const [sample] = samples;
if (sample === undefined) throw new Error('there are no samples');

let door: FhirDoor;
beforeAll(async () => {
  door = await createFhirDoor();
});
afterAll(() => door.close());

const subject = { reference: 'Patient/p' };
const active = {
  coding: [
    {
      system: 'http://terminology.hl7.org/CodeSystem/condition-clinical',
      code: 'active',
    },
  ],
};
const named = (text: string, code?: string) => ({
  text,
  ...(code !== undefined && {
    coding: [{ system: 'http://snomed.info/sct', code }],
  }),
});
const result = (
  id: string,
  code: string,
  value: number,
  day: string,
  more: object = {},
) => ({
  resourceType: 'Observation',
  id,
  status: 'final',
  subject,
  effectiveDateTime: day,
  category: [
    {
      coding: [
        {
          system: 'http://terminology.hl7.org/CodeSystem/observation-category',
          code: 'laboratory',
        },
      ],
    },
  ],
  code: {
    coding: [{ system: 'http://loinc.org', code }],
    text: `Test ${code}`,
  },
  valueQuantity: { value, unit: 'mg/dL' },
  ...more,
});

async function recordOf(...resources: object[]): Promise<string> {
  const patientId = await door.addPatient(
    personOf(sample as NonNullable<typeof sample>),
  );
  const given = resources.map((each) => delivery('hie', each));
  if (given.length > 0) await door.deliver(patientId, 'hie', given, ['p']);
  return patientId;
}

const summaryOf = (patientId: string) =>
  door.bundle(`Patient/${patientId}/$summary`);

function opened(bundle: Bundle) {
  const [composition] = resourcesIn(bundle) as Composition[];
  const sections = new Map(
    (composition?.section ?? []).map((section) => [
      section.code?.coding?.[0]?.code,
      section,
    ]),
  );
  const byName = new Map(
    resourcesIn(bundle).map((each) => [
      `${each.resourceType}/${each.id}`,
      each,
    ]),
  );
  return {
    composition,
    sections,
    section: (code: string) => {
      const section = sections.get(code);
      const entries = (section?.entry ?? []).map(({ reference }) =>
        byName.get(reference ?? ''),
      );
      return { section, entries, text: section?.text?.div ?? '' };
    },
  };
}

const [PROBLEMS, MEDICATIONS, ALLERGIES, RESULTS] = [
  '11450-4',
  '10160-0',
  '48765-2',
  '30954-2',
] as const;
const [PAST, DEVICES] = ['11348-0', '46264-8'] as const;
const textIn = (resource: FhirResource | undefined) => JSON.stringify(resource);

describe('the summary of a sample patient', () => {
  let bundle: Bundle;
  beforeAll(async () => {
    bundle = await summaryOf(await door.addSample(sample));
  });

  test('is a document that claims the guide, with the sections that it demands and how complete the record is, first', () => {
    expect(bundle.type).toBe('document');
    expect(bundle.meta?.profile).toEqual([
      'http://hl7.org/fhir/uv/ips/StructureDefinition/Bundle-uv-ips|2.0.0',
    ]);
    const { sections, composition } = opened(bundle);
    expect([...sections.keys()].slice(0, 6)).toEqual([
      'overview',
      'completeness',
      PROBLEMS,
      MEDICATIONS,
      ALLERGIES,
      '11369-6',
    ]);
    expect(composition?.section?.[1]?.text?.div).toContain(
      'HIE: never queried; ',
    );
  });

  test('holds each resource once, under one kind of address, and every reference in it leads somewhere in it', () => {
    const names = resourcesIn(bundle).map(
      (each) => `${each.resourceType}/${each.id}`,
    );
    expect(new Set(names).size).toBe(names.length);
    for (const [index, { fullUrl }] of (bundle.entry ?? []).entries())
      expect(fullUrl).toBe(`${FHIR_BASE}/${names[index]}`);
    const references = [
      ...JSON.stringify(bundle).matchAll(/"reference":"([^"#][^"]*)"/g),
    ].map(([, to]) => to);
    expect(references.length).toBeGreaterThan(50);
    expect(references.filter((each) => !names.includes(String(each)))).toEqual(
      [],
    );
    const reachable = new Set([...references, names[0]]);
    expect(names.filter((each) => !reachable.has(each))).toEqual([]);
  });

  test('has the entries of the record as the FHIR API gives them, and ids that stay', async () => {
    const { entries } = opened(bundle).section(PROBLEMS);
    const [problem] = entries;
    const served = (await door.get(`Condition/${problem?.id}`)).json();
    expect(problem?.meta?.lastUpdated).toBe(served.meta.lastUpdated);
    const again = await summaryOf(String(resourcesIn(bundle)[1]?.id));
    const idsOf = (of: Bundle) => resourcesIn(of).map(({ id }) => id);
    expect(idsOf(again)).toEqual(idsOf(bundle));
    expect(again.identifier?.value).not.toBe(bundle.identifier?.value);
  });
});

describe('a section', () => {
  test('holds what is current, and counts what is not', async () => {
    const patientId = await recordOf(
      {
        resourceType: 'Condition',
        id: 'c1',
        subject,
        clinicalStatus: active,
        code: named('Asthma'),
      },
      {
        resourceType: 'Condition',
        id: 'c2',
        subject,
        code: named('Fracture'),
        abatementDateTime: '2019-01-01',
      },
      {
        resourceType: 'MedicationRequest',
        id: 'm1',
        status: 'active',
        intent: 'order',
        subject,
        medicationCodeableConcept: named('Albuterol'),
      },
      {
        resourceType: 'MedicationRequest',
        id: 'm2',
        status: 'stopped',
        intent: 'order',
        subject,
        medicationCodeableConcept: named('Warfarin'),
      },
      {
        resourceType: 'AllergyIntolerance',
        id: 'a1',
        patient: subject,
        code: named('Peanut'),
        criticality: 'high',
      },
      {
        resourceType: 'AllergyIntolerance',
        id: 'a2',
        patient: subject,
        code: named('Latex'),
        verificationStatus: {
          coding: [
            {
              system:
                'http://terminology.hl7.org/CodeSystem/allergyintolerance-verification',
              code: 'refuted',
            },
          ],
        },
      },
      {
        resourceType: 'Device',
        id: 'd1',
        patient: subject,
        type: named('Pacemaker'),
      },
    );
    const { section } = opened(await summaryOf(patientId));
    expect(section(PROBLEMS).entries.map(textIn)).toEqual([
      expect.stringContaining('Asthma'),
    ]);
    expect(section(PROBLEMS).entries[0]?.meta?.profile).toContain(
      'http://hl7.org/fhir/uv/ips/StructureDefinition/Condition-uv-ips|2.0.0',
    );
    expect(section(PAST).entries.map(textIn)).toEqual([
      expect.stringContaining('Fracture'),
    ]);
    expect(section(MEDICATIONS).entries.map(textIn)).toEqual([
      expect.stringContaining('Albuterol'),
    ]);
    expect(section(ALLERGIES).entries.map(textIn)).toEqual([
      expect.stringContaining('Peanut'),
    ]);
    expect(section(ALLERGIES).text).toContain('<b>High</b>');
    expect(section(ALLERGIES).text).toContain(
      '1 further entry in the whole record',
    );
    expect(section(MEDICATIONS).text).not.toContain('Warfarin');
    expect(section(DEVICES).entries.map(textIn)).toEqual([
      expect.stringContaining('data-absent-reason'),
    ]);
  });

  test('of a record with ended problems alone says that none is current, not that none was delivered', async () => {
    const ended = {
      resourceType: 'Condition',
      id: 'c1',
      subject,
      code: named('Fracture'),
      abatementDateTime: '2019-01-01',
    };
    const { section } = opened(await summaryOf(await recordOf(ended)));
    expect(section(PROBLEMS).text).toContain(
      'The sources have delivered no current problems.',
    );
    expect(section(PAST).entries.map(textIn)).toEqual([
      expect.stringContaining('Fracture'),
    ]);
  });

  test('of results has the latest of each test, both where sources differ about it, and none that was retracted', async () => {
    const patientId = await recordOf(
      result('o1', '2345-7', 95, '2024-01-01T08:00:00Z'),
      result('o2', '2345-7', 99, '2024-02-01T08:00:00Z'),
      result('o3', '2345-7', 104, '2024-03-01T08:00:00Z', {
        status: 'entered-in-error',
      }),
      result('o4', '718-7', 13, '2020-01-01'),
    );
    await door.deliver(
      patientId,
      'lab',
      [delivery('lab', result('o5', '2345-7', 97, '2024-02-01T08:00:00Z'))],
      ['p'],
    );
    const { entries, text } = opened(await summaryOf(patientId)).section(
      RESULTS,
    );
    expect(
      entries
        .map(
          (each) =>
            (each as { valueQuantity?: { value: number } }).valueQuantity
              ?.value,
        )
        .sort(),
    ).toEqual([13, 97, 99]);
    expect(text).toContain('2 further entries in the whole record');
    // The guide demands a performer of a result, and the sources name none.
    expect(
      entries
        .flatMap((each) => each?.meta?.profile ?? [])
        .filter((url) => url.includes('/uv/ips/')),
    ).toEqual([]);
  });

  test('says that a source knows of none in its words, and otherwise why nothing is known', async () => {
    const none = await recordOf({
      resourceType: 'AllergyIntolerance',
      id: 'a',
      patient: subject,
      clinicalStatus: {
        coding: [
          {
            system:
              'http://terminology.hl7.org/CodeSystem/allergyintolerance-clinical',
            code: 'active',
          },
        ],
      },
      code: named('No known allergy', '716186003'),
    });
    const known = opened(await summaryOf(none)).section(ALLERGIES);
    expect(known.entries.map(textIn)).toEqual([
      expect.stringContaining('716186003'),
    ]);
    expect(known.section?.emptyReason).toBeUndefined();
    expect(known.text).toContain('No known allergies, stated by HIE');

    const listed = await recordOf({
      resourceType: 'List',
      id: 'l',
      status: 'current',
      mode: 'snapshot',
      subject,
      code: { coding: [{ system: 'http://loinc.org', code: '48765-2' }] },
      emptyReason: {
        coding: [
          {
            system: 'http://terminology.hl7.org/CodeSystem/list-empty-reason',
            code: 'nilknown',
          },
        ],
      },
    });
    expect(
      opened(await summaryOf(listed)).section(ALLERGIES).section?.emptyReason
        ?.coding?.[0]?.code,
    ).toBe('nilknown');

    const unasked = opened(await summaryOf(await recordOf())).section(
      ALLERGIES,
    );
    expect(unasked.section?.emptyReason).toEqual({
      coding: [
        {
          system: 'http://terminology.hl7.org/CodeSystem/list-empty-reason',
          code: 'notasked',
        },
      ],
      text: 'The sources have delivered no current allergies; that does not mean that there are none. No source has been queried.',
    });
    expect(unasked.text).toContain('that does not mean that there are none');
  });

  test('does not pass on a statement of none that the record contradicts, and says so', async () => {
    const patientId = await recordOf(
      {
        resourceType: 'AllergyIntolerance',
        id: 'a',
        patient: subject,
        code: named('No known allergy', '716186003'),
      },
      {
        resourceType: 'AllergyIntolerance',
        id: 'b',
        patient: subject,
        code: named('Penicillin'),
      },
    );
    const { entries, text } = opened(await summaryOf(patientId)).section(
      ALLERGIES,
    );
    expect(entries.map(textIn)).toEqual([
      expect.stringContaining('Penicillin'),
    ]);
    expect(text).toContain('This contradicts the allergies listed above.</b>');
  });

  test('escapes what a source wrote', async () => {
    const patientId = await recordOf({
      resourceType: 'Condition',
      id: 'c',
      subject,
      clinicalStatus: active,
      code: named('<script>alert(1)</script> & "x"'),
    });
    const { text } = opened(await summaryOf(patientId)).section(PROBLEMS);
    expect(text).toContain(
      '&lt;script&gt;alert(1)&lt;/script&gt; &amp; &quot;x&quot;',
    );
  });
});

describe('a request', () => {
  test('by POST gives the same; one for another profile and one without Parameters are refused', async () => {
    const patientId = await recordOf();
    const post = (body: object) =>
      door.call(
        'POST',
        `Patient/${patientId}/$summary`,
        { 'content-type': 'application/fhir+json' },
        body,
      );
    const asked = (name: string, valueCanonical: string) =>
      post({
        resourceType: 'Parameters',
        parameter: [{ name, valueCanonical }],
      });
    const good = await asked(
      'profile',
      'http://hl7.org/fhir/uv/ips/StructureDefinition/Composition-uv-ips',
    );
    expect([good.statusCode, good.json().type]).toEqual([200, 'document']);
    const bad = await asked('profile', 'http://example.org/other');
    expect([bad.statusCode, bad.json().resourceType]).toEqual([
      400,
      'OperationOutcome',
    ]);
    const other = await post({ resourceType: 'Patient', profile: 'x' });
    expect([other.statusCode, other.body]).toEqual([
      400,
      expect.stringContaining('must be Parameters'),
    ]);
  });

  test('for no patient of the account finds none, by any id', async () => {
    for (const id of ['0198f1c2-0000-7000-8000-000000000000', 'x', '%00'])
      expect((await door.get(`Patient/${id}/$summary`)).statusCode, id).toBe(
        404,
      );
  });

  test('is in the disclosures of the patient', async () => {
    const patientId = await recordOf();
    await summaryOf(patientId);
    const period = {
      from: new Date(0),
      to: new Date(Date.now() + 60_000),
      limit: 10,
      readOperations: [],
    };
    const rows = await door.store.asAccount(door.accountId, (tx) =>
      readDisclosures(tx, patientId, period),
    );
    expect(rows.map(({ what, door: by }) => [what, by])).toEqual([
      ['fhirSummary', 'fhir api'],
    ]);
  });
});

test('a summary says first that the person has died, when and at what age', async () => {
  const living = opened(await summaryOf(await recordOf()));
  expect(living.composition?.text?.div).not.toContain('Died');

  const patient = { resourceType: 'Patient', id: 'p' };
  const patientId = await recordOf({ ...patient, deceasedDateTime: '2017' });
  const { composition } = opened(await summaryOf(patientId));
  expect(composition?.text?.div).toMatch(/<p><b>Died: 2017, aged \d+ years/);
});
