import { describe, expect, test } from 'vitest';
import { r4Faults } from '../../../src/exchange/records/rules/r4/check-r4.ts';
import { inUsCore } from '../../../src/exchange/records/rules/us-core/us-core.ts';

const status = (kind: string, code: string) => ({
  coding: [{ system: `http://terminology.hl7.org/CodeSystem/${kind}`, code }],
});
const active = status('condition-clinical', 'active');
const gout = {
  resourceType: 'Condition',
  id: 'c',
  clinicalStatus: active,
  code: { text: 'Gout' },
  subject: { reference: 'Patient/p' },
};
const result = {
  resourceType: 'Observation',
  id: 'o',
  status: 'final',
  code: { text: 'Potassium' },
};
const narrative = (div: string) => ({
  ...gout,
  text: { status: 'generated', div },
});
const faultsOf = (resource: object) =>
  r4Faults(resource as Record<string, unknown>).map(
    ({ element, says }) => `${element} ${says}`,
  );

test.each([
  ['a condition', gout],
  ['one with a month of onset', { ...gout, onsetDateTime: '2024-02' }],
  ['a leap day', { ...gout, onsetDateTime: '2024-02-29' }],
  [
    'one that is over',
    {
      ...gout,
      clinicalStatus: status('condition-clinical', 'resolved'),
      abatementDateTime: '2026-01-01',
    },
  ],
  [
    'a narrative with a table, a link and a picture',
    narrative(
      '<div xmlns="http://www.w3.org/1999/xhtml"><!-- <b> --><table class="a"><tr><td>x &lt; y</td></tr></table><a href="https://example.org/a?b=1">more</a><img src="#i" alt="knee"/></div>',
    ),
  ],
  ['a value', { ...result, valueQuantity: { value: 5, unit: 'mmol/L' } }],
  [
    'a day that begins earlier elsewhere',
    {
      ...result,
      effectivePeriod: {
        start: '2026-05-02',
        end: '2026-05-01T23:30:00-05:00',
      },
    },
  ],
])('%s is FHIR R4', (_, resource) => {
  expect(faultsOf(resource)).toEqual([]);
});

describe('what is not FHIR R4 is named with its place:', () => {
  test.each([
    [
      { ...gout, clinicalStatus: status('condition-clinical', 'running') },
      'Condition.clinicalStatus has no code of its value set',
    ],
    [
      { ...gout, verificationStatus: { text: 'sure' } },
      'Condition.verificationStatus has no code of its value set',
    ],
    [
      {
        resourceType: 'AdverseEvent',
        actuality: 'actual',
        subject: { reference: 'Patient/p' },
        severity: status('adverse-event-severity', 'terrible'),
      },
      'AdverseEvent.severity has no code of its value set',
    ],
    [
      { ...result, valueString: 'high', valueInteger: 5 },
      'Observation.valueInteger stands beside valueString, and only one of them may be there',
    ],
    [
      { ...gout, onsetDateTime: '2024', _onsetAge: { id: 'x' } },
      'Condition.onsetAge stands beside onsetDateTime, and only one of them may be there',
    ],
    [
      {
        resourceType: 'Immunization',
        status: 'completed',
        vaccineCode: { text: 'Tetanus' },
        patient: { reference: 'Patient/p' },
      },
      'Immunization.occurrence[x] is missing or not as FHIR R4 defines it',
    ],
    [
      { ...gout, onsetDateTime: '2026-02-30' },
      'Condition.onsetDateTime must be a day, month or year of the calendar, or a time with seconds and zone, such as 2026-05-01T10:00:00Z',
    ],
    [
      { ...gout, recordedDate: '2026-05-01T10:00:00' },
      'Condition.recordedDate must be a day, month or year of the calendar, or a time with seconds and zone, such as 2026-05-01T10:00:00Z',
    ],
    [
      { ...result, issued: '2026-05-01' },
      'Observation.issued must be a time with seconds and zone, such as 2026-05-01T10:00:00Z',
    ],
    [
      { ...result, valueTime: '25:00:00' },
      'Observation.valueTime must be a time of day, such as 10:00:00',
    ],
    [
      { ...result, valueInteger: 1.5 },
      'Observation.valueInteger must be a whole number',
    ],
    [
      narrative('<div>Knee <script>alert(1)</script></div>'),
      'Condition.text.div has an element or attribute that a narrative may not have, such as a script',
    ],
    [
      narrative('<div><b onclick="alert(1)">Knee</b></div>'),
      'Condition.text.div has an element or attribute that a narrative may not have, such as a script',
    ],
    [
      narrative('<div><a href=" javascript:alert(1)">Knee</a></div>'),
      'Condition.text.div has an element or attribute that a narrative may not have, such as a script',
    ],
    [
      narrative('<div><b onclick=alert(1)>Knee</b></div>'),
      'Condition.text.div has an element or attribute that a narrative may not have, such as a script',
    ],
    [narrative('<div> </div>'), 'Condition.text.div must have some content'],
    [narrative('Knee'), 'Condition.text.div must be one div of XHTML'],
    [
      { ...gout, abatementDateTime: '2026-01-01' },
      'Condition has an abatement, so its clinicalStatus must be inactive, remission or resolved (con-4)',
    ],
    [
      {
        ...gout,
        verificationStatus: status('condition-ver-status', 'entered-in-error'),
      },
      'Condition may have no clinicalStatus when its verificationStatus is entered-in-error (con-5)',
    ],
    [
      {
        resourceType: 'AllergyIntolerance',
        patient: { reference: 'Patient/p' },
        code: { text: 'Latex' },
      },
      'AllergyIntolerance needs a clinicalStatus, unless its verificationStatus is entered-in-error: then it may have none (ait-1)',
    ],
    [
      {
        ...result,
        effectivePeriod: { start: '2026-05-02', end: '2026-04-30' },
      },
      'Observation.effectivePeriod has end before start (per-1)',
    ],
    [
      { ...result, valueQuantity: { value: 5, code: 'mmol/L' } },
      'Observation.valueQuantity needs system beside code (qty-3)',
    ],
    [
      { ...result, valueString: '5', dataAbsentReason: { text: 'lost' } },
      'Observation may not have both a value and a dataAbsentReason (obs-6)',
    ],
    [
      { ...result, referenceRange: [{ type: { text: 'normal' } }] },
      'Observation.referenceRange needs low or high or text (obs-3)',
    ],
    [
      { ...result, performer: [{ reference: '#lab' }] },
      'Observation.performer refers to a contained resource that is not there (ref-1)',
    ],
    [{ ...result, note: [] }, 'Observation.note is empty'],
    [{ ...result, valueString: ' ' }, 'Observation.valueString is empty'],
  ])('%#', (resource, fault) => {
    expect(faultsOf(resource)).toEqual([fault]);
  });

  test('and claims no profile', () => {
    const profilesOf = (resource: object) =>
      inUsCore(resource as Record<string, unknown>).meta;
    const problem = {
      ...gout,
      category: [
        {
          coding: [
            {
              system:
                'http://terminology.hl7.org/CodeSystem/condition-category',
              code: 'problem-list-item',
            },
          ],
        },
      ],
    };
    expect(profilesOf(problem)).toMatchObject({
      profile: expect.arrayContaining([expect.stringContaining('us-core')]),
    });
    for (const wrong of [
      { clinicalStatus: status('condition-clinical', 'running') },
      { onsetDateTime: '2026-02-30' },
      { abatementDateTime: '2026-01-01' },
    ])
      expect(profilesOf({ ...problem, ...wrong })).toEqual({});
  });
});
