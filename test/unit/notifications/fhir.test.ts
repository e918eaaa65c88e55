import { describe, expect, test } from 'vitest';
import { UnreadableMessageError } from '#hl7v2-to-fhir';
import { readFhirBundle } from '../../../src/exchange/messaging/notifications/fhir/bundle.ts';

const patient = {
  resourceType: 'Patient',
  id: 'p1',
  identifier: [
    { system: 'urn:mercy', value: '77', type: { coding: [{ code: 'MR' }] } },
  ],
  name: [{ family: 'Sample', given: ['Pat'] }],
  birthDate: '1980-04-05',
  address: [{ postalCode: '02108' }],
};
const encounter = {
  resourceType: 'Encounter',
  id: 'e1',
  meta: { versionId: '3', lastUpdated: '2026-05-01T10:00:00Z' },
  status: 'finished',
  class: { code: 'IMP' },
  subject: { reference: 'Patient/p1' },
  period: { start: '2026-04-29T08:00:00-05:00', end: '2026-05-01T09:00:00Z' },
  location: [
    {
      location: { display: 'Ward 2' },
      period: { start: '2026-04-30T00:00:00Z' },
    },
    {
      location: { reference: 'Location/l1' },
      period: { start: '2026-04-29T13:00:00Z' },
    },
  ],
};
const location = { resourceType: 'Location', id: 'l1', name: 'Emergency' };
const bundle = (resources: object[], rest: object = {}) =>
  Buffer.from(
    JSON.stringify({
      resourceType: 'Bundle',
      id: 'b1',
      type: 'collection',
      timestamp: '2026-05-01T10:00:05Z',
      entry: resources.map((resource) => ({ resource })),
      ...rest,
    }),
  );
const read = (resources: object[], rest?: object) =>
  readFhirBundle(bundle(resources, rest));

describe('a Bundle', () => {
  test('with an Encounter tells how it stands as a whole', () => {
    expect(read([encounter, patient, location])).toMatchObject({
      messageId: 'Bundle/b1',
      trigger: 'Encounter',
      recordedAt: '2026-05-01T10:00:00.000Z',
      sentAt: '2026-05-01T10:00:05.000Z',
      sourcePatientId: '77^urn:mercy',
      content: {
        kind: 'encounter',
        sourceId: 'Encounter/e1',
        event: {
          trigger: 'snapshot',
          phase: 'ended',
          admittedAt: '2026-04-29T13:00:00.000Z',
          dischargedAt: '2026-05-01T09:00:00.000Z',
          location: 'Ward 2',
          transfers: [
            { at: '2026-04-30T00:00:00.000Z', from: 'Emergency', to: 'Ward 2' },
          ],
        },
      },
    });
    expect(
      read([{ ...encounter, status: 'planned' }, patient]).content,
    ).toMatchObject({
      event: { trigger: 'update' },
    });
  });

  test.each(['2026-02-29', '2026-02-30T08:00:00Z', '2026-04-31'])(
    'has no time of %s, which no calendar has',
    (start) => {
      const { content } = read([
        { ...encounter, period: { start }, location: [] },
        patient,
      ]);
      expect(JSON.stringify(content)).not.toMatch(/2026-0[35]-0[12]/);
    },
  );

  test('is the same when its references name a version', () => {
    const versioned = JSON.parse(
      JSON.stringify(encounter).replace(
        'Location/l1',
        'Location/l1/_history/4',
      ),
    );
    const { content } = read([encounter, patient, location]);
    expect(read([versioned, patient, location]).content).toEqual(content);
  });

  test('may begin with a byte order mark, and is refused when it is not in UTF-8', () => {
    const bytes = bundle([encounter, patient]);
    const marked = Buffer.concat([Buffer.of(0xef, 0xbb, 0xbf), bytes]);
    expect(readFhirBundle(marked)).toEqual(readFhirBundle(bytes));
    const latin = Buffer.from(
      bytes.toString('utf8').replace('Sample', 'Sämple'),
      'latin1',
    );
    expect(() => readFhirBundle(latin)).toThrow(
      'The body is not valid JSON in UTF-8',
    );
  });

  test('is known by its identifier, its id, or the versions of what it holds', () => {
    expect(
      read([encounter, patient], { identifier: { system: 's', value: '1' } })
        .messageId,
    ).toBe('s|1');
    expect(read([encounter, patient], { id: undefined }).messageId).toBe(
      'Encounter/e1/_history/3',
    );
    const nameless = () =>
      read([{ ...encounter, meta: {} }, patient], { id: undefined }).messageId;
    expect(nameless()).toMatch(/^[0-9a-f]{64}$/);
    const said = (resource: object, rest?: object) =>
      read([resource, patient], rest).fingerprint;
    expect(said(encounter, { timestamp: '2026-05-01T11:00:00Z' })).toBe(
      said(encounter),
    );
    expect(said({ ...encounter, status: 'in-progress' })).not.toBe(
      said(encounter),
    );
    expect(
      said(encounter, {
        entry: [
          { resource: { resourceType: 'Basic' } },
          { resource: encounter },
          { resource: patient },
        ],
      }),
    ).not.toBe(said(encounter));
    expect(nameless()).toBe(nameless());
  });

  test('with dispenses tells of each; a request stands for a fill where no dispense does', () => {
    const dispense = {
      resourceType: 'MedicationDispense',
      status: 'completed',
      whenHandedOver: '2026-05-01',
    };
    const request = {
      resourceType: 'MedicationRequest',
      id: 'r1',
      status: 'active',
    };
    const fills = read([
      patient,
      { ...dispense, id: 'd1' },
      { ...dispense, id: 'd2', status: 'stopped' },
      request,
    ]);
    expect(fills.content).toEqual({
      kind: 'pharmacy',
      items: [
        {
          sourceId: 'MedicationDispense/d1',
          at: '2026-05-01T00:00:00.000Z',
          isTrue: true,
          rank: 2,
        },
        {
          sourceId: 'MedicationDispense/d2',
          at: '2026-05-01T00:00:00.000Z',
          isTrue: false,
          rank: 2,
        },
      ],
    });
    expect(read([patient, request]).content).toMatchObject({
      items: [{ sourceId: 'MedicationRequest/r1', isTrue: true }],
    });
  });

  test('with results tells of each report, or of each specimen, and when it was taken', () => {
    const specimen = {
      resourceType: 'Specimen',
      id: 's1',
      collection: { collectedDateTime: '2026-05-01T06:00:00Z' },
    };
    const observation = {
      resourceType: 'Observation',
      status: 'final',
      specimen: { reference: 'Specimen/s1' },
    };
    const report = {
      resourceType: 'DiagnosticReport',
      id: 'r1',
      status: 'final',
      effectiveDateTime: '2026-05-02',
    };
    const items = (resources: object[]) =>
      read([patient, specimen, ...resources]).content;
    expect(
      items([
        { ...observation, id: 'o1' },
        { ...observation, id: 'o2' },
      ]),
    ).toEqual({
      kind: 'laboratory',
      items: [
        {
          sourceId: 'Specimen/s1',
          at: '2026-05-01T06:00:00.000Z',
          isTrue: true,
          rank: 2,
        },
      ],
    });
    expect(items([report, { ...observation, id: 'o1' }])).toMatchObject({
      items: [
        { sourceId: 'DiagnosticReport/r1', at: '2026-05-02T00:00:00.000Z' },
      ],
    });
  });

  test('of type message is about what its header names', () => {
    const header = {
      resourceType: 'MessageHeader',
      focus: [{ reference: 'DiagnosticReport/r1' }],
    };
    const report = {
      resourceType: 'DiagnosticReport',
      id: 'r1',
      status: 'final',
    };
    const about = read([header, encounter, patient, report], {
      type: 'message',
    });
    expect(about.content.kind).toBe('laboratory');
  });

  test.each<[string, () => unknown, string, string]>([
    ['no JSON', () => readFhirBundle(Buffer.from('{')), 'invalid', ''],
    [
      'no Bundle',
      () => readFhirBundle(Buffer.from('{"resourceType":"Patient"}')),
      'invalid',
      'Bundle.resourceType',
    ],
    [
      'a searchset',
      () => read([encounter, patient], { type: 'searchset' }),
      'invalid',
      'Bundle.type',
    ],
    ['nothing told', () => read([patient]), 'unsupported', 'Bundle.entry'],
    ['nobody', () => read([encounter]), 'invalid', 'Bundle.entry'],
    [
      'two Encounters',
      () => read([encounter, { ...encounter, id: 'e2' }, patient]),
      'invalid',
      'Bundle.entry',
    ],
    [
      'no id',
      () => read([{ ...encounter, id: undefined }, patient]),
      'invalid',
      'Encounter.id',
    ],
    [
      'the character U+0000',
      () => read([{ ...encounter, class: { code: 'I\0' } }, patient]),
      'invalid',
      'Bundle.entry[0].resource.class.code',
    ],
    [
      'a broken part',
      () => read([{ ...encounter, period: { start: 77 } }, patient]),
      'invalid',
      'Bundle.entry[0].resource.period.start',
    ],
  ])(
    'with %s is refused by name of the place, without any value',
    (_, take, kind, place) => {
      try {
        take();
        expect.unreachable();
      } catch (error) {
        expect(error).toBeInstanceOf(UnreadableMessageError);
        expect(error).toMatchObject({
          kind,
          ...(place === '' ? {} : { place }),
        });
        expect((error as Error).message).not.toMatch(/Sample|1980|02108|77/);
      }
    },
  );
});
