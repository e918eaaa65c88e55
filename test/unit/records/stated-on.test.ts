import { expect, test } from 'vitest';
import { convertDatedCcda } from '../../../src/exchange/records/conversion/ccda-conversion.ts';
import { statedOn } from '../../../src/exchange/records/rules/provenance.ts';
import { loadCcda } from '../../../tools/simulator/samples.ts';
import { samples } from '../../support/deliveries.ts';

test('the time of a document is in every resource that is made of it', () => {
  for (const sample of samples) {
    const conversion = convertDatedCcda(loadCcda(sample), {
      unit: 'u',
      patientId: 'p',
    });
    if (conversion.kind !== 'converted') throw new Error('not converted');
    expect(conversion.resources.length).toBeGreaterThan(0);
    const times = new Set(conversion.resources.map(statedOn));
    expect([...times]).toEqual([expect.stringMatching(/^\d{4}-\d{2}-\d{2}/)]);
  }
});
