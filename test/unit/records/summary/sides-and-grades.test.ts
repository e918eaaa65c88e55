import { expect, test } from 'vitest';
import { ipsSections } from '../../../../src/exchange/delivery/fhir-api/summary/ips-sections.ts';
import {
  PATIENT,
  partsOf,
  readerOf,
  rowsOf,
} from '../../../support/summary-reader.ts';

// The summaries of these tests are made on 21 Nov 2026.

const cancer = (side: string) => ({
  resourceType: 'Condition',
  id: side,
  clinicalStatus: { coding: [{ code: 'active' }] },
  code: { text: 'Carcinoma of breast' },
  bodySite: [{ text: `${side} breast` }],
  severity: { text: 'Severe (severity modifier) (qualifier value)' },
  stage: [
    { summary: { text: 'IIA' }, type: { text: 'Pathologic' } },
    { assessment: [{ display: 'Stage group by biopsy' }] },
  ],
  onsetDateTime: '2026-03-07',
});
const replacement = (side: string, more: object = {}) => ({
  resourceType: 'Procedure',
  id: side,
  status: 'completed',
  code: { text: 'Total replacement of hip' },
  bodySite: [
    {
      coding: [{ system: 'http://snomed.info/sct', code: '24136001' }],
      text: 'Hip joint',
      extension: [
        {
          url: 'urn:laterality',
          valueCodeableConcept: { text: side },
        },
      ],
    },
  ],
  performedDateTime: '2026-05-03',
  ...more,
});
const CONTENTS = [
  cancer('Left'),
  cancer('Right'),
  replacement('left'),
  replacement('right', {
    complication: [{ text: 'Dislocation' }],
    complicationDetail: [{ reference: 'Condition/Left' }],
  }),
];

const GRADES =
  'severe; stage IIA (Pathologic); Stage group by biopsy; since 7 Mar 2026';

test('page one: problems of two sides are two, with severity and stage, and complications are problems', async () => {
  for await (const part of partsOf(readerOf([PATIENT, ...CONTENTS])))
    if (part.kind === 'overview') {
      const items = part.blocks.find(
        ({ title }) => title === 'Active problems',
      )?.items;
      expect(items?.map(({ text, detail }) => [text, detail])).toEqual([
        [expect.stringMatching('Carcinoma of breast .(Left|Right)'), GRADES],
        [expect.stringMatching('Carcinoma of breast .(Left|Right)'), GRADES],
        [
          'Complication of Total replacement of hip (Hip joint, right): Dislocation, Carcinoma of breast',
          '3 May 2026',
        ],
      ]);
      expect(new Set(items?.map(({ text }) => text)).size).toBe(3);
    }
});

test('tables of the summary and of the IPS say side, stage, severity and complication', async () => {
  const sections = await ipsSections(
    readerOf([PATIENT, ...CONTENTS]),
    new Date('2026-11-21T12:00:00Z'),
  );
  const texts = [
    ...(await rowsOf(CONTENTS, 'problems')),
    ...(await rowsOf(CONTENTS, 'procedures')),
    JSON.stringify(sections.map(({ json }) => json.text)),
  ].join('\n');
  // The IPS says what is on page one twice.
  for (const said of [
    'Carcinoma of breast (Left breast); severe; stage IIA (Pathologic)',
    'Carcinoma of breast (Right breast); severe; stage IIA (Pathologic)',
    'Total replacement of hip (Hip joint, left)',
    'Total replacement of hip (Hip joint, right); complication: Dislocation',
  ])
    expect(texts.split(said).length - 1, said).toBeGreaterThanOrEqual(2);
});
