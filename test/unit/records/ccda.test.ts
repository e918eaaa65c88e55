import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { openXml, startsAsXml } from '#ccda-to-fhir';
import { convertDatedCcda } from '../../../src/exchange/records/conversion/ccda-conversion.ts';
import { createCcdaConverter } from '../../../src/exchange/records/conversion/ccda-converter.ts';
import { loadCcda } from '../../../tools/simulator/samples.ts';
import {
  deliveriesOf,
  delivery,
  patientIdsOf,
  personOf,
  samples,
} from '../../support/deliveries.ts';
import { fhirIssues } from '../../support/fhir-issues.ts';
import { mergeDeliveries } from '../../support/merge-deliveries.ts';
import { property } from '../../support/property.ts';

const NAMES = { unit: 'u', patientId: 'p' };
const HEADER = `<?xml version="1.0"?><ClinicalDocument xmlns="urn:hl7-org:v3" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">
  <id root="1.2.3"/><effectiveTime value="20240501"/><recordTarget><patientRole><id root="1.2.3" extension="7"/>
  <patient><name><given>Ann</given><family>Example</family></name><administrativeGenderCode code="F"/>
  <birthTime value="19700102"/></patient></patientRole></recordTarget>`;
const document = (...sections: string[]) =>
  Buffer.from(
    `${HEADER}<component><structuredBody>${sections.map((section) => `<component><section>${section}</section></component>`).join('')}</structuredBody></component></ClinicalDocument>`,
  );
const PROCEDURES =
  '<templateId root="2.16.840.1.113883.10.20.22.2.7.1"/><title>Procedures</title>';
const RESULTS =
  '<templateId root="2.16.840.1.113883.10.20.22.2.3.1"/><title>Results</title>';
const procedure = (time: string) =>
  `<entry><procedure classCode="PROC" moodCode="EVN"><id root="1.2.3" extension="a"/>
   <code code="80146002" codeSystem="2.16.840.1.113883.6.96" displayName="Appendectomy"/><statusCode code="completed"/>
   ${time}</procedure></entry>`;
const result = (
  value: string,
  time = '<effectiveTime value="20240501101500-0500"/>',
) =>
  `<entry><observation classCode="OBS" moodCode="EVN"><templateId root="2.16.840.1.113883.10.20.22.4.2"/><id root="1.2.3" extension="b"/>
   <code code="718-7" codeSystem="2.16.840.1.113883.6.1" displayName="Hemoglobin"/><statusCode code="completed"/>${time}${value}</observation></entry>`;

function converted(bytes: Buffer) {
  const conversion = convertDatedCcda(bytes, NAMES);
  if (conversion.kind !== 'converted')
    throw new Error(JSON.stringify(conversion));
  return conversion;
}

describe('a C-CDA document', () => {
  test.each(
    samples.filter(({ key }) =>
      ['keith-kiehn', 'tamica-murazik'].includes(key),
    ),
  )(
    'of $key is valid FHIR, the same every time, and what the source also tells as FHIR is the same thing',
    (sample) => {
      const [patientId = ''] = patientIdsOf(sample).get('hie') ?? [];
      const convert = () =>
        convertDatedCcda(loadCcda(sample), { unit: 'u', patientId });
      const conversion = convert();
      expect(convert()).toEqual(conversion);
      if (conversion.kind !== 'converted') throw new Error('not converted');
      expect(conversion.resources.flatMap(fhirIssues)).toEqual([]);

      const native = deliveriesOf(sample);
      const ofDocument = conversion.resources.map((resource) => ({
        ...delivery('hie', resource, 'doc.xml'),
        isConverted: true,
      }));
      const merge = (deliveries: typeof native) =>
        mergeDeliveries(personOf(sample), deliveries, patientIdsOf(sample));
      const { resources, excluded } = merge([...native, ...ofDocument]);
      expect(excluded).toEqual([]);
      const { resources: withoutDocument } = merge(native);
      const count = (
        all: readonly { resourceType?: unknown }[],
        type: string,
      ) => all.filter(({ resourceType }) => resourceType === type).length;
      for (const type of [
        'AllergyIntolerance',
        'Condition',
        'Encounter',
        'Immunization',
        'Procedure',
      ]) {
        expect([type, count(resources, type)]).toEqual([
          type,
          count(withoutDocument, type),
        ]);
        expect(count(conversion.resources, type)).toBe(
          count(
            native.filter(({ source }) => source === 'hie'),
            type,
          ),
        );
      }
      expect(resources.flatMap(fhirIssues)).toEqual([]);
      // The document states what was taken, not what was ordered.
      expect(count(conversion.resources, 'MedicationStatement')).toBe(
        count(
          native.filter(({ source }) => source === 'hie'),
          'MedicationRequest',
        ),
      );
    },
  );

  test.each([
    ['20240501', { performedDateTime: '2024-05-01' }],
    ['202405', { performedDateTime: '2024-05' }],
    ['2024', { performedDateTime: '2024' }],
    ['20240501101500-0500', { performedDateTime: '2024-05-01T10:15:00-05:00' }],
    ['20240501000000', { performedDateTime: '2024-05-01' }],
    [
      '202405011015',
      {
        performedDateTime: '2024-05-01',
        _performedDateTime: {
          extension: [
            {
              valuePeriod: {
                start: '2024-05-01T10:15:00+14:00',
                end: '2024-05-01T10:15:00-12:00',
              },
            },
          ],
        },
      },
    ],
  ])('gives the time %s as far as it says it', (value, performed) => {
    const { resources } = converted(
      document(
        `${PROCEDURES}${procedure(`<effectiveTime value="${value}"/>`)}`,
      ),
    );
    expect(resources).toMatchObject([
      {
        resourceType: 'Procedure',
        id: 'ccda.u.1',
        ...performed,
        subject: { reference: 'Patient/p' },
      },
    ]);
    expect(resources.flatMap(fhirIssues)).toEqual([]);
  });

  test.each([
    [
      '<value xsi:type="IVL_PQ"><high value="10" unit="mg/dL"/></value>',
      { valueQuantity: { comparator: '<=', value: 10, unit: 'mg/dL' } },
    ],
    ['<value xsi:type="REAL" value="1.5"/>', { valueQuantity: { value: 1.5 } }],
    [
      '<value xsi:type="ED">see &#x75;rine &amp; blood</value>',
      { valueString: 'see urine & blood' },
    ],
    ['<value xsi:type="PQ" nullFlavor="UNK"/>', {}],
  ])('keeps the value %s', (value, expected) => {
    const { resources } = converted(document(`${RESULTS}${result(value)}`));
    expect(resources).toMatchObject([
      {
        resourceType: 'Observation',
        effectiveDateTime: '2024-05-01T10:15:00-05:00',
        ...expected,
      },
    ]);
    expect(resources.flatMap(fhirIssues)).toEqual([]);
  });

  test.each([
    [
      'participant in its header',
      '<participant typeCode="IND"><associatedEntity/></participant>',
      '',
    ],
    [
      'translation of a code',
      '',
      '<methodCode code="a"><translation code="b"/></methodCode>',
    ],
    [
      'translation of a site',
      '',
      '<targetSiteCode code="a"><translation code="b"/></targetSiteCode>',
    ],
    [
      'participant of an entry',
      '',
      '<participant typeCode="LOC"><participantRole/></participant>',
    ],
  ])('may have a single %s', (_, inHeader, inEntry) => {
    const text = document(`${PROCEDURES}${procedure(inEntry)}`).toString();
    const { resources, skippedSections } = converted(
      Buffer.from(text.replace(HEADER, HEADER + inHeader)),
    );
    expect(skippedSections).toBe(0);
    expect(
      resources.filter(({ resourceType }) => resourceType === 'Procedure'),
    ).toHaveLength(1);
  });

  test('may leave out what FHIR requires: a code, a date, the year', () => {
    const uncoded = result(
      '<value xsi:type="ST">Walks with a cane</value>',
    ).replace(/<code [^>]*>/, '<code nullFlavor="UNK"/>');
    const undated = result(
      '<value xsi:type="ST">positive</value>',
      '<effectiveTime value="00000000"/>',
    );
    const { resources } = converted(
      document(`${RESULTS}${uncoded}`, `${RESULTS}${undated}`),
    );
    expect(resources).toMatchObject([
      {
        code: { extension: [{ valueCode: 'unknown' }] },
        valueString: 'Walks with a cane',
      },
      { valueString: 'positive' },
    ]);
    expect(resources[1]).not.toHaveProperty('effectiveDateTime');
    expect(resources.flatMap(fhirIssues)).toEqual([]);
  });

  test('lends its offset to times that have none; what is no date is left out', () => {
    const zoned = document(
      `${PROCEDURES}${procedure('<effectiveTime value="20240501101500"/>')}`,
    )
      .toString()
      .replace(
        '<effectiveTime value="20240501"/>',
        '<effectiveTime value="20240502080000-0700"/>',
      );
    expect(converted(Buffer.from(zoned)).resources).toMatchObject([
      { performedDateTime: '2024-05-01T10:15:00-07:00' },
    ]);
    for (const value of [
      '20240231',
      '20241301',
      '00000000',
      '2024-05-01',
      'yesterday',
    ]) {
      const { resources } = converted(
        document(
          `${PROCEDURES}${procedure(`<effectiveTime value="${value}"/>`)}`,
        ),
      );
      expect(
        Object.keys(resources[0] ?? {}).filter((name) =>
          name.includes('performed'),
        ),
      ).toEqual([]);
    }
  });

  test('may give its elements a prefix', () => {
    const prefixed = document(`${PROCEDURES}${procedure('')}`)
      .toString()
      .replaceAll(/(<\/?)([a-zA-Z])/g, '$1c:$2')
      .replace('xmlns=', 'xmlns:c=');
    expect(converted(Buffer.from(prefixed)).resources).toHaveLength(1);
  });

  test.each([
    [
      'nobody',
      HEADER.replace(
        /<recordTarget>[\s\S]*<\/recordTarget>/,
        '</ClinicalDocument>',
      ),
      'it names no patient',
    ],
    [
      'two persons',
      `${HEADER}<recordTarget><patientRole/></recordTarget></ClinicalDocument>`,
      'it is about several people',
    ],
  ])('about %s is not converted', (_, text, reason) => {
    expect(convertDatedCcda(Buffer.from(text), NAMES)).toEqual({
      kind: 'skipped',
      reason,
    });
  });

  test('is distinguished from other XML', () => {
    expect(
      convertDatedCcda(
        Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>'),
        NAMES,
      ),
    ).toEqual({
      kind: 'not-cda',
    });
  });
});

describe('XML is not parsed', () => {
  const reasonOf = (text: string | Buffer) => {
    const opened = openXml(Buffer.from(text));
    return opened.kind === 'refused' ? opened.reason : undefined;
  };
  test.each([
    [
      'with entities that grow',
      '<!DOCTYPE a [<!ENTITY x "xxxx"><!ENTITY y "&x;&x;&x;">]><a>&y;</a>',
      'it has a document type definition',
    ],
    [
      'with an external entity',
      '<?xml version="1.0"?>\n<!doctype a [<!entity x SYSTEM "file:///etc/passwd">]><a>&x;</a>',
      'it has a document type definition',
    ],
    [
      'in UTF-16 with a DTD',
      Buffer.concat([
        Buffer.from([0xff, 0xfe]),
        Buffer.from('<!DOCTYPE a><a/>', 'utf16le'),
      ]),
      'it has a document type definition',
    ],
    [
      'nested too deep',
      '<a x="/>">'.repeat(300),
      'its elements are nested too deeply',
    ],
    [
      'in no known encoding',
      '<?xml version="1.0" encoding="x-none"?><a/>',
      'it has an unknown encoding',
    ],
    ['when it is a PDF', '%PDF-1.7', 'it is not XML'],
  ])('%s', (_, text, reason) => {
    expect(reasonOf(text)).toBe(reason);
  });

  test('but read as what it says it is', () => {
    const latin = Buffer.from(
      '<?xml version="1.0" encoding="ISO-8859-1"?><a>é&#233;&lt;&#60;</a>',
      'latin1',
    );
    expect(openXml(latin)).toMatchObject({
      kind: 'xml',
      text: expect.stringContaining('<a>éé&lt;&#60;</a>'),
    });
    expect(
      reasonOf(`<a>${'<b/>'.repeat(5_000)}<!-- <c> --></a>`),
    ).toBeUndefined();
  });
});

describe('a document, in a thread of its own', () => {
  const [sample] = samples;
  const bytes = sample === undefined ? Buffer.alloc(0) : loadCcda(sample);

  test('however small, comes out as in this one, also after one that ended the thread', async () => {
    const converter = createCcdaConverter({
      heapMb: 64,
      timeoutMs: 240_000,
      idleMs: 1_000,
    });
    const huge = document(
      ...Array.from(
        { length: 3_000 },
        () => `${PROCEDURES}${procedure('').repeat(10)}`,
      ),
    );
    const outcomes = await Promise.all(
      [bytes, huge, bytes].map((each) => converter.convert('a', each, NAMES)),
    );
    const alone = convertDatedCcda(bytes, NAMES);
    expect(outcomes).toEqual([
      alone,
      { kind: 'failed', reason: 'it needs too much memory' },
      alone,
    ]);
  });

  test('that the machine leaves no time has not failed: it is converted later', async () => {
    const standing = new URL(
      '../../support/processor-holder.ts',
      import.meta.url,
    );
    // Longer than twice the processor time that the start of a thread takes.
    const ofOneDocument = 8_000;
    const limits = { heapMb: 64, timeoutMs: ofOneDocument, idleMs: 1_000 };
    const converter = createCcdaConverter(limits, standing);
    await expect(converter.convert('a', bytes, NAMES)).rejects.toMatchObject({
      status: 503,
    });
  });

  property({
    start: fc.string({
      unit: fc.constantFrom('\uFEFF', ' ', '\n', 'é', 'x', '\0'),
      maxLength: 5,
    }),
    encoding: fc.constantFrom('utf8', 'utf16le', 'latin1'),
  })('needs none when it does not begin as XML', ({ start, encoding }) => {
    const content = Buffer.from(
      `${start}<a>${' '.repeat(9_000)}</a>`,
      encoding as BufferEncoding,
    );
    if (openXml(content).kind === 'xml')
      expect(startsAsXml(content)).toBe(true);
    expect(startsAsXml(Buffer.from(`${start}a note`))).toBe(false);
  });

  test('does not wait behind all those that another account has sent before', async () => {
    const converter = createCcdaConverter({
      heapMb: 192,
      timeoutMs: 240_000,
      idleMs: 1_000,
    });
    const ended: string[] = [];
    // Long enough that another thread starts in the meantime.
    const long = document(
      ...Array.from(
        { length: 150 },
        () => `${PROCEDURES}${procedure('').repeat(10)}`,
      ),
    );
    await Promise.all(
      [...Array.from({ length: 10 }, () => 'a'), 'b'].map((of) =>
        converter
          .convert(of, long, NAMES)
          .then(({ kind }) => ended.push(`${of} ${kind}`)),
      ),
    );
    expect(ended).toHaveLength(11);
    expect(ended.slice(0, -1)).toContain('b converted');
  });

  test('ends with a reason when it needs too much memory or time, or cannot be parsed', async () => {
    const outcome = (
      limits: { heapMb?: number; timeoutMs?: number },
      content = bytes,
    ) =>
      createCcdaConverter({
        heapMb: 192,
        timeoutMs: 240_000,
        idleMs: 1_000,
        ...limits,
      }).convert('a', content, NAMES);
    expect(await outcome({ timeoutMs: 1 })).toEqual({
      kind: 'failed',
      reason: 'it took too long',
    });
    const huge = document(
      ...Array.from(
        { length: 3_000 },
        () => `${PROCEDURES}${procedure('').repeat(10)}`,
      ),
    );
    expect(await outcome({ heapMb: 16 }, huge)).toEqual({
      kind: 'failed',
      reason: 'it needs too much memory',
    });
  });
});
