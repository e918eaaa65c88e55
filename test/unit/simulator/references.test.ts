import { describe, expect, test } from 'vitest';
import { withResolvedReferences } from '../../../tools/simulator/data/patient-view.ts';

const resolve = (reference: string) =>
  reference === 'urn:uuid:1' ? 'Patient/1' : undefined;

describe('references of a resource', () => {
  test('are put into the words of the source', () => {
    expect(
      withResolvedReferences({ subject: { reference: 'urn:uuid:1' } }, resolve),
    ).toEqual({
      subject: { reference: 'Patient/1' },
    });
  });

  test('keep their text when the source does not know the target, and vanish without one', () => {
    const resource = {
      requester: { reference: 'urn:uuid:2', display: 'Dr. Who' },
      encounter: { reference: 'urn:uuid:3' },
      reasonReference: [{ reference: 'urn:uuid:4' }],
      note: [],
      active: false,
    };
    expect(withResolvedReferences(resource, resolve)).toEqual({
      requester: { display: 'Dr. Who' },
      note: [],
      active: false,
    });
  });
});
