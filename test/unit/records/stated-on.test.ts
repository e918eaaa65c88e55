import { describe, expect, test } from 'vitest';
import { convertCcda } from '../../../src/exchange/records/ccda/convert.ts';
import { documentTime, statedOn } from '../../../src/exchange/records/rules/stated-on.ts';
import { loadCcda } from '../../../src/simulator/samples.ts';
import { samples } from '../../support/deliveries.ts';
import { fhirIssues } from '../../support/fhir-issues.ts';

describe('the time of a document', () => {
  test.each([
    ['20240301101500-0500', '2024-03-01T10:15:00-05:00'],
    ['202403011015+0000', '2024-03-01T10:15:00+00:00'],
    ['20240301101500.123-0500', '2024-03-01T10:15:00-05:00'],
    // Without an offset the time of day means nothing to others.
    ['20240301101500', '2024-03-01'],
    ['20240301', '2024-03-01'],
    ['202403', '2024-03'],
    ['2024', '2024'],
    ['', undefined],
    [undefined, undefined],
    ['unknown', undefined],
  ])('%s is %s', (written, time) => {
    expect(documentTime(written)).toBe(time);
  });

  test('is in every resource that is made of it, as valid FHIR', () => {
    for (const sample of samples) {
      const conversion = convertCcda(loadCcda(sample), { unit: 'u', patientId: 'p' });
      if (conversion.kind !== 'converted') throw new Error('not converted');
      expect(conversion.resources.length).toBeGreaterThan(0);
      const times = new Set(conversion.resources.map(statedOn));
      expect([...times]).toEqual([expect.stringMatching(/^\d{4}-\d{2}-\d{2}/)]);
      expect(conversion.resources.flatMap(fhirIssues)).toEqual([]);
    }
  });
});
