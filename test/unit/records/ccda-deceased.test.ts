import { expect, test } from 'vitest';
import { convertDatedCcda } from '../../../src/exchange/records/conversion/ccda-conversion.ts';
import { delivery, personOf, samples } from '../../support/deliveries.ts';
import { mergeDeliveries } from '../../support/merge-deliveries.ts';

const [sample] = samples;
if (sample === undefined) throw new Error('there are no samples');
const person = personOf(sample);

/** The Patient of a record to which a document was added. */
function patientAfter(deceased: string) {
  const document = `<?xml version="1.0"?>
<ClinicalDocument xmlns="urn:hl7-org:v3" xmlns:sdtc="urn:hl7-org:sdtc">
  <id root="1.2.3"/><effectiveTime value="20240501"/>
  <recordTarget><patientRole><id root="1.2.3" extension="7"/>
    <patient><name><given>Ann</given><family>Example</family></name>
      <birthTime value="19510405"/>${deceased}</patient>
  </patientRole></recordTarget>
  <component><structuredBody/></component>
</ClinicalDocument>`;
  const names = { unit: 'u', patientId: 'p' };
  const converted = convertDatedCcda(Buffer.from(document), names);
  if (converted.kind !== 'converted') throw new Error(converted.kind);

  const given = converted.resources.map((each) => ({
    ...delivery('hie', each),
    isConverted: true,
  }));
  const ids = new Map([['hie', new Set(['p'])]]);
  const { resources } = mergeDeliveries(person, given, ids);
  return resources.find(({ resourceType }) => resourceType === 'Patient');
}

const DEAD = '<sdtc:deceasedInd value="true"/>';

test.each([
  [`${DEAD}<sdtc:deceasedTime value="20170312"/>`, '2017-03-12'],
  ['<sdtc:deceasedTime value="201703122330-0500"/>', '2017-03-12'],
  [`${DEAD}<sdtc:deceasedTime value="2017"/>`, '2017'],
])(
  'of a document that says %s, the day of death is in the record',
  (stated, day) => {
    const patient = patientAfter(stated);
    expect(patient).toMatchObject({ deceasedDateTime: day });
    expect(patient).not.toHaveProperty('deceasedBoolean');
  },
);

test.each([
  [DEAD, true],
  [`${DEAD}<sdtc:deceasedTime nullFlavor="UNK"/>`, true],
  ['<sdtc:deceasedInd value="false"/>', undefined],
  ['<sdtc:deceasedTime nullFlavor="UNK"/>', undefined],
  ['', undefined],
])('of a document that says %s, deceasedBoolean is %s', (stated, isDead) => {
  const patient = patientAfter(stated);
  expect(patient?.deceasedBoolean).toBe(isDead);
  expect(patient).not.toHaveProperty('deceasedDateTime');
});
