import { describe, expect, test } from 'vitest';
import { createPatientBodySchema } from '../../../src/contract/patients.ts';
import { loadSamplePatients } from '../../../src/local-stack/sample-patients.ts';
import { buildPatientView } from '../../../tools/simulator/data/patient-view.ts';

const samples = loadSamplePatients();

describe('sample patients', () => {
  test('are at least four, each with a key and an external id of its own', () => {
    expect(samples.length).toBeGreaterThanOrEqual(4);
    expect(new Set(samples.map(({ key }) => key)).size).toBe(samples.length);
    expect(
      new Set(samples.map(({ createBody }) => createBody.externalId)).size,
    ).toBe(samples.length);
    for (const { key } of samples) expect(key).toMatch(/^[a-z]+(-[a-z]+)*$/);
  });

  test.each(samples)(
    '$key carries what the sources know, in the form the interface asks for',
    (sample) => {
      const { createBody } = sample;
      const { patient } = buildPatientView('hie', sample, new Map());
      const [address] = createBody.address;
      expect(patient.name?.[0]).toMatchObject({
        family: createBody.lastName,
        given: createBody.firstName.split(' '),
      });
      expect(patient.birthDate).toBe(createBody.dob);
      expect(patient.address?.[0]?.postalCode).toBe(address?.zip);
      expect(address?.zip).toMatch(/^(?!00000|12345|99999)\d{5}$/);
      expect(
        createPatientBodySchema.safeParse(createBody).error,
      ).toBeUndefined();
    },
  );
});
