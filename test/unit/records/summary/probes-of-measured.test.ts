import { describe, expect, test } from 'vitest';
import { parseHl7, reportedInHl7 } from '#hl7v2-to-fhir';
import { ipsSections } from '../../../../src/exchange/delivery/fhir-api/summary/ips-sections.ts';
import { deliveryOf } from '../../../../src/exchange/messaging/notifications/recording/record-subject.ts';
import {
  convertedSections,
  LOINC,
  SNOMED,
  section,
  TEMPLATE,
} from '../../../support/ccda-sections.ts';
import { delivery, personOf, samples } from '../../../support/deliveries.ts';
import { mergeDeliveries } from '../../../support/merge-deliveries.ts';
import {
  gather,
  MADE_AT,
  PATIENT,
  partsOf,
  readerOf,
} from '../../../support/summary-reader.ts';

// Two things of one code, through each door: they stay two in the record, page
// one says which is which and draws no course from one to the other, the
// patient summary has both, and each has a chart of its own.

const [sample] = samples;
if (sample === undefined) throw new Error('the samples are gone');
const person = personOf(sample);

type Resource = Record<string, unknown>;

interface Probe {
  what: string;
  /** What is delivered of each of the two at a time. */
  of: (which: 0 | 1, at: string, nth: number) => Resource[];
  /** By which a reader tells the two apart. */
  words: readonly [RegExp, RegExp];
  /** Numbers that are drawn over time. */
  isDrawn?: true;
  title?: string;
  /** Neither has a time after the other, so none is the last. */
  isOfOneTime?: true;
}

const TIMES = ['2026-03-01', '2026-04-01', '2026-05-01'];

/** The merged record of what is delivered. */
function recordOf({ of, isOfOneTime }: Probe): Resource[] {
  const delivered = TIMES.slice(0, isOfOneTime ? 1 : 3).flatMap((at, nth) =>
    ([0, 1] as const).flatMap((which) => of(which, at, nth)),
  );
  const subject = { reference: 'Patient/p' };
  const { resources } = mergeDeliveries(
    person,
    delivered.map((resource) =>
      delivery('hie', {
        ...resource,
        ...('subject' in resource && { subject }),
        ...('patient' in resource && { patient: subject }),
      }),
    ),
    new Map([['hie', new Set(['p'])]]),
  );
  return resources.filter(
    ({ resourceType }) => resourceType !== 'Patient',
  ) as Resource[];
}

async function pageOf(resources: readonly Resource[], title: string) {
  const items: string[] = [];
  const charts: string[] = [];
  const parts = await gather(partsOf(readerOf([PATIENT, ...resources])));
  for (const part of parts) {
    if (part.kind === 'charts')
      charts.push(...part.charts.map((chart) => chart.title));
    if (part.kind !== 'overview') continue;
    for (const block of part.blocks)
      if (block.title.startsWith(title))
        items.push(
          ...block.items.map(({ text, detail }) => `${text} | ${detail}`),
        );
  }
  return { items, charts };
}

let ids = 0;
const id = (): string => {
  ids += 1;
  return `r${ids}`;
};
const text = (of: string) => ({ text: of });
const measured = (
  code: string,
  value: number | string,
  at: string,
  more: object,
): Resource => ({
  resourceType: 'Observation',
  id: id(),
  status: 'final',
  subject: {},
  category: [{ coding: [{ code: 'laboratory' }] }],
  code: { coding: [{ system: 'urn:lab', code }], text: code },
  effectiveDateTime: at,
  ...(typeof value === 'number'
    ? { valueQuantity: { value, unit: 'u' } }
    : { valueString: value }),
  ...more,
});
const vital = (...of: Parameters<typeof measured>): Resource => ({
  ...measured(...of),
  category: [{ coding: [{ code: 'vital-signs' }] }],
});
/** Values of the two that a course would join. */
const VALUES = [90, 20] as const;

const FHIR: Probe[] = [
  {
    what: 'specimens that are resources',
    words: [/Blood/, /Cerebrospinal fluid/],
    isDrawn: true,
    of: (which, at) => {
      const specimen = id();
      return [
        {
          resourceType: 'Specimen',
          id: specimen,
          subject: {},
          type: text(['Blood', 'Cerebrospinal fluid'][which] ?? ''),
        },
        measured('Glucose', VALUES[which], at, {
          specimen: { reference: `Specimen/${specimen}` },
        }),
      ];
    },
  },
  {
    what: 'specimens that are contained',
    words: [/Serum/, /Urine/],
    isDrawn: true,
    of: (which, at) => [
      measured('Sodium', VALUES[which], at, {
        contained: [
          {
            resourceType: 'Specimen',
            id: 's',
            type: text(['Serum', 'Urine'][which] ?? ''),
          },
        ],
        specimen: { reference: '#s' },
      }),
    ],
  },
  {
    what: 'specimens of which only the words are known',
    words: [/Pleural fluid/, /Ascitic fluid/],
    isDrawn: true,
    of: (which, at) => [
      measured('Protein', VALUES[which], at, {
        specimen: { display: ['Pleural fluid', 'Ascitic fluid'][which] },
      }),
    ],
  },
  {
    what: 'specimens of their reports',
    words: [/Capillary blood/, /Venous blood/],
    isDrawn: true,
    of: (which, at) => {
      const result = measured('Lactate', VALUES[which], at, {});
      return [
        result,
        {
          resourceType: 'DiagnosticReport',
          id: id(),
          status: 'final',
          subject: {},
          code: text(`Gases ${which}`),
          effectiveDateTime: at,
          specimen: [{ display: ['Capillary blood', 'Venous blood'][which] }],
          result: [{ reference: `Observation/${String(result.id)}` }],
        },
      ];
    },
  },
  {
    what: 'sides in the words of a body site',
    words: [/left knee/i, /right knee/i],
    isDrawn: true,
    of: (which, at) => [
      measured('Range of motion', VALUES[which], at, {
        bodySite: text(['Left knee', 'Right knee'][which] ?? ''),
      }),
    ],
  },
  {
    what: 'sides as a second code of a body site',
    words: [/left/i, /right/i],
    isDrawn: true,
    of: (which, at) => [
      measured('Intraocular pressure', VALUES[which], at, {
        bodySite: {
          text: 'Eye',
          coding: [
            { system: 'http://snomed.info/sct', code: '81745001' },
            {
              system: 'http://snomed.info/sct',
              code: ['7771000', '24028007'][which],
            },
          ],
        },
      }),
    ],
  },
  {
    what: 'sides of BodyStructures',
    words: [/left/i, /right/i],
    isDrawn: true,
    of: (which, at) => {
      const structure = id();
      return [
        {
          resourceType: 'BodyStructure',
          id: structure,
          patient: {},
          location: text('Ear'),
          locationQualifier: [text(['Left', 'Right'][which] ?? '')],
        },
        measured('Hearing threshold', VALUES[which], at, {
          extension: [
            {
              url: 'http://hl7.org/fhir/StructureDefinition/bodySite',
              valueReference: { reference: `BodyStructure/${structure}` },
            },
          ],
        }),
      ];
    },
  },
  {
    what: 'organisms by derivedFrom',
    words: [/Ciprofloxacin.*Escherichia coli/, /Ciprofloxacin.*Klebsiella/],
    isOfOneTime: true,
    of: (which, at) => {
      const organism = measured(
        'Organism',
        ['Escherichia coli', 'Klebsiella'][which] ?? '',
        at,
        { code: text('Organism identified'), valueString: undefined },
      );
      return [
        {
          ...organism,
          code: {
            coding: [{ system: 'http://loinc.org', code: '600-7' }],
            text: 'Bacteria identified',
          },
          valueCodeableConcept: text(
            ['Escherichia coli', 'Klebsiella'][which] ?? '',
          ),
        },
        measured('Ciprofloxacin', ['S', 'R'][which] ?? '', at, {
          derivedFrom: [{ reference: `Observation/${String(organism.id)}` }],
        }),
      ];
    },
  },
  {
    what: 'organisms by hasMember',
    words: [/Gentamicin.*Proteus/, /Gentamicin.*Enterococcus/],
    isOfOneTime: true,
    of: (which, at) => {
      const sensitivity = measured(
        'Gentamicin',
        ['S', 'R'][which] ?? '',
        at,
        {},
      );
      return [
        sensitivity,
        {
          ...measured('x', '', at, {
            code: {
              coding: [{ system: 'http://loinc.org', code: '600-7' }],
              text: 'Bacteria identified',
            },
            valueCodeableConcept: text(
              ['Proteus', 'Enterococcus'][which] ?? '',
            ),
            hasMember: [{ reference: `Observation/${String(sensitivity.id)}` }],
          }),
          valueString: undefined,
        },
      ];
    },
  },
  {
    what: 'methods of a number',
    words: [/Test strip/, /Analyzer/],
    isDrawn: true,
    of: (which, at) => [
      measured('Ketones', VALUES[which], at, {
        method: text(['Test strip', 'Analyzer'][which] ?? ''),
      }),
    ],
  },
  {
    what: 'two bottles of one draw that say which they are',
    words: [/Aerobic bottle/, /Anaerobic bottle/],
    isOfOneTime: true,
    of: (which, at) => [
      measured(
        'Blood culture',
        ['No growth', 'Staphylococcus aureus'][which] ?? '',
        at,
        {
          specimen: { display: ['Aerobic bottle', 'Anaerobic bottle'][which] },
        },
      ),
    ],
  },
  {
    what: 'two bottles of one draw that do not',
    words: [/No growth/, /Staphylococcus aureus/],
    isOfOneTime: true,
    of: (which, at) => [
      measured(
        'Blood culture',
        ['No growth', 'Staphylococcus aureus'][which] ?? '',
        at,
        { identifier: [{ system: 'urn:bottle', value: `${which}` }] },
      ),
    ],
  },
  {
    what: 'places of a vital sign',
    title: 'Last vital signs',
    words: [/right hand/i, /left foot/i],
    isDrawn: true,
    of: (which, at) => [
      vital('Oxygen saturation', VALUES[which], at, {
        bodySite: text(['Right hand', 'Left foot'][which] ?? ''),
      }),
    ],
  },
  {
    what: 'positions of a vital sign',
    title: 'Last vital signs',
    words: [/lying/i, /standing/i],
    isDrawn: true,
    of: (which, at) => [
      vital('Heart rate', VALUES[which], at, {
        extension: [
          {
            url: 'http://hl7.org/fhir/StructureDefinition/observation-bodyPosition',
            valueCodeableConcept: text(['Lying', 'Standing'][which] ?? ''),
          },
        ],
      }),
    ],
  },
  {
    what: 'sides of a problem',
    title: 'Active problems',
    words: [/left/i, /right/i],
    isOfOneTime: true,
    of: (which, at) => [
      {
        resourceType: 'Condition',
        id: id(),
        subject: {},
        clinicalStatus: { coding: [{ code: 'active' }] },
        code: text('Fracture of femur'),
        bodySite: [text(['Left femur', 'Right femur'][which] ?? '')],
        onsetDateTime: at,
      },
    ],
  },
  {
    what: 'sides of a procedure',
    title: 'Major procedures',
    words: [/left/i, /right/i],
    isOfOneTime: true,
    of: (which, at) => [
      {
        resourceType: 'Procedure',
        id: id(),
        subject: {},
        status: 'completed',
        code: text('Total hip replacement'),
        bodySite: [text(['Left hip', 'Right hip'][which] ?? '')],
        performedDateTime: at,
      },
    ],
  },
];

const SIDES = ['7771000', '24028007'] as const;
const side = (which: 0 | 1): string =>
  `<qualifier><name code="272741003" ${SNOMED}/><value code="${SIDES[which]}" ${SNOMED}/></qualifier>`;
const day = (at: string): string => at.replaceAll('-', '');

/** What a document with one entry is converted to, with ids of its own. */
function converted(template: string, code: string, entry: string): Resource[] {
  const { resources } = convertedSections(
    section(template, code, `<entry>${entry}</entry>`),
  );
  const unit = id();
  const renamed = JSON.stringify(resources)
    .replaceAll(/"id":"([^"]+)"/g, `"id":"${unit}-$1"`)
    .replaceAll(
      /"reference":"(?!Patient)([A-Z]\w+)\/([^"]+)"/g,
      `"reference":"$1/${unit}-$2"`,
    );
  return JSON.parse(renamed) as Resource[];
}
const resultEntry = (
  which: 0 | 1,
  at: string,
  nth: number,
  more: string,
): string =>
  `<observation classCode="OBS" moodCode="EVN"><templateId root="${TEMPLATE}4.2"/><id root="1.2.3" extension="o${which}${nth}"/>
   <code code="2345-7" ${LOINC} displayName="Glucose"/><statusCode code="completed"/><effectiveTime value="${day(at)}"/>
   <value xsi:type="PQ" value="${VALUES[which]}" unit="mg/dL"/>${more}</observation>`;

const CCDA: Probe[] = [
  {
    what: 'sides of a result in a document',
    words: [/left/i, /right/i],
    isDrawn: true,
    of: (which, at, nth) =>
      converted(
        `${TEMPLATE}2.3.1`,
        '30954-2',
        resultEntry(
          which,
          at,
          nth,
          `<targetSiteCode code="81745001" ${SNOMED} displayName="Eye">${side(which)}</targetSiteCode>`,
        ),
      ),
  },
  {
    what: 'methods of a result in a document',
    words: [/Test strip/, /Analyzer/],
    isDrawn: true,
    of: (which, at, nth) =>
      converted(
        `${TEMPLATE}2.3.1`,
        '30954-2',
        resultEntry(
          which,
          at,
          nth,
          `<methodCode code="m${which}" codeSystem="1.2.3" displayName="${['Test strip', 'Analyzer'][which]}"/>`,
        ),
      ),
  },
  {
    what: 'specimens of a result in a document',
    words: [/Serum/, /Cerebrospinal fluid/],
    isDrawn: true,
    of: (which, at, nth) =>
      converted(
        `${TEMPLATE}2.3.1`,
        '30954-2',
        resultEntry(
          which,
          at,
          nth,
          `<specimen><specimenRole><specimenPlayingEntity><code code="s${which}" codeSystem="1.2.3" displayName="${['Serum', 'Cerebrospinal fluid'][which]}"/></specimenPlayingEntity></specimenRole></specimen>`,
        ),
      ),
  },
  {
    what: 'hips of two procedures in a document',
    title: 'Major procedures',
    words: [/left/i, /right/i],
    isOfOneTime: true,
    of: (which, at) =>
      converted(
        `${TEMPLATE}2.7.1`,
        '47519-4',
        `<procedure classCode="PROC" moodCode="EVN"><templateId root="${TEMPLATE}4.14"/><id nullFlavor="UNK"/>
         <code code="52734007" ${SNOMED} displayName="Total replacement of hip">${side(which)}</code><statusCode code="completed"/>
         <effectiveTime value="${day(at)}"/></procedure>`,
      ),
  },
  {
    what: 'sides of two problems in a document',
    title: 'Active problems',
    words: [/left/i, /right/i],
    isOfOneTime: true,
    of: (which, at) =>
      converted(
        `${TEMPLATE}2.5.1`,
        '11450-4',
        `<act classCode="ACT" moodCode="EVN"><templateId root="${TEMPLATE}4.3"/><id root="1.2.3" extension="c${which}"/><statusCode code="active"/>
         <entryRelationship typeCode="SUBJ"><observation classCode="OBS" moodCode="EVN"><templateId root="${TEMPLATE}4.4"/>
         <id root="1.2.3" extension="d${which}"/><statusCode code="completed"/><effectiveTime><low value="${day(at)}"/></effectiveTime>
         <value xsi:type="CD" code="71620000" ${SNOMED} displayName="Fracture of femur">${side(which)}</value></observation></entryRelationship></act>`,
      ),
  },
];

let messages = 0;
/** What a message of a laboratory reports. */
function reported(...segments: string[]): Resource[] {
  messages += 1;
  const message = [
    `MSH|^~\\&|LAB|ACME|HUB|X|20261120090000+0000||ORU^R01|m-${messages}|P|2.5.1`,
    'PID|||R1^^^ACME^MR||Li^Wei||19800405|F',
    ...segments,
  ].join('\r');
  return reportedInHl7(parseHl7(Buffer.from(message)), 'UTC', 'acme').flatMap(
    ({ resources }, index) =>
      deliveryOf(
        `0190a1b2-0000-7000-8000-${String(messages * 100 + index).padStart(12, '0')}`,
        resources.map(({ resource }) => resource as never),
      ).resources as unknown as Resource[],
  );
}
const obr = (which: 0 | 1, at: string, nth: number, code: string, more = '') =>
  `OBR|1|P${which}${nth}|F${which}${nth}|${code}|||${day(at)}080000+0000|||||||||||||||${day(at)}090000+0000||LAB|F${more}`;
const obx = (at: string, code: string, value: string, more = '') =>
  `OBX|1|${/^\d/.test(value) ? 'NM' : 'ST'}|${code}||${value}|${/^\d/.test(value) ? 'mg/dL' : ''}|||||F|||${day(at)}080000+0000${more}`;

const HL7: Probe[] = [
  {
    what: 'sides in OBX-20',
    words: [/left/i, /right/i],
    isDrawn: true,
    of: (which, at, nth) =>
      reported(
        obr(which, at, nth, 'K^Knee^L'),
        obx(
          at,
          'ROM^Range of motion^L',
          String(VALUES[which]),
          `||||||${['LK^Left knee^L', 'RK^Right knee^L'][which]}`,
        ),
      ),
  },
  {
    what: 'specimens in SPM',
    words: [/Serum/, /Cerebrospinal fluid/],
    isDrawn: true,
    of: (which, at, nth) =>
      reported(
        obr(which, at, nth, 'GLU^Glucose^L'),
        obx(at, 'GLU^Glucose^L', String(VALUES[which])),
        `SPM|1|S${which}${nth}||${['SER^Serum^HL70487', 'CSF^Cerebrospinal fluid^HL70487'][which]}`,
      ),
  },
  {
    what: 'methods in OBX-17',
    words: [/Test strip/, /Analyzer/],
    isDrawn: true,
    of: (which, at, nth) =>
      reported(
        obr(which, at, nth, 'KET^Ketones^L'),
        obx(
          at,
          'KET^Ketones^L',
          String(VALUES[which]),
          `|||${['TS^Test strip^L', 'AN^Analyzer^L'][which]}`,
        ),
      ),
  },
  {
    what: 'organisms in OBR-26',
    words: [/Ciprofloxacin.*Escherichia coli/, /Ciprofloxacin.*Klebsiella/],
    isOfOneTime: true,
    of: (which, at) =>
      which === 1
        ? []
        : reported(
            obr(0, at, 0, '600-7^Culture^LN'),
            `OBX|1|CE|600-7^Organism^LN|1|EC^Escherichia coli^L||||||F|||${day(at)}080000+0000`,
            `OBX|2|CE|600-7^Organism^LN|2|KL^Klebsiella^L||||||F|||${day(at)}080000+0000`,
            ...([0, 1] as const).flatMap((each) => [
              `OBR|${each + 2}|P${each}s|F${each}s|50545-3^Susceptibility panel^LN|||${day(at)}080000+0000|||||||||||||||${day(at)}090000+0000||LAB|F|600-7&Organism&LN^${each + 1}^${['Escherichia coli', 'Klebsiella'][each]}|||P00^F00`,
              obx(at, '18906-8^Ciprofloxacin^LN', ['S', 'R'][each] ?? ''),
            ]),
          ),
  },
  {
    what: 'bottles of one draw in SPM',
    words: [/Aerobic/, /Anaerobic/],
    isOfOneTime: true,
    of: (which, at, nth) =>
      reported(
        obr(which, at, nth, '600-7^Blood culture^LN'),
        `OBX|1|ST|600-7^Blood culture^LN||${['No growth', 'Staphylococcus aureus'][which]}||||||F|||${day(at)}080000+0000`,
        `SPM|1|B${which}||${['AER^Aerobic bottle^L', 'ANA^Anaerobic bottle^L'][which]}`,
      ),
  },
];

describe.each([
  ['FHIR', FHIR],
  ['C-CDA', CCDA],
  ['HL7 v2', HL7],
] as const)('what was measured, through %s', (_, probes) => {
  test.each(probes.map((probe) => [probe.what, probe] as const))(
    '%s',
    async (_what, probe) => {
      const { words, isDrawn, title = 'Latest results' } = probe;
      const resources = recordOf(probe);
      const { items, charts } = await pageOf(resources, title);
      const ips = JSON.stringify(
        await ipsSections(readerOf([PATIENT, ...resources]), MADE_AT),
      );
      for (const [which, word] of words.entries()) {
        const said = items.filter((item) => word.test(item));
        expect(said).not.toEqual([]);
        expect(ips).toMatch(word);
        if (!isDrawn) continue;
        // No course leads to the value of the other.
        const ofTheOther = new RegExp(`\\b${VALUES[which === 0 ? 1 : 0]}\\b`);
        for (const item of said) expect(item).not.toMatch(ofTheOther);
        expect(charts.filter((chart) => word.test(chart))).toHaveLength(1);
      }
    },
  );
});
