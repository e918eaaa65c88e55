import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readDirectoryResource } from '../../../../src/exchange/sources/directory/rules/read-resource.ts';
import { positionOfZip } from '../../../../src/exchange/sources/directory/zip-centroids.ts';
import {
  madeEndpoint,
  madeOrganization,
} from '../../../support/directory-entries.ts';
import { property } from '../../../support/property.ts';

const read = (resource: unknown) =>
  readDirectoryResource(JSON.stringify(resource));

function entryOf(resource: unknown) {
  const result = read(resource);
  if (result.kind !== 'entry') throw new Error(result.kind);
  return result;
}

describe('an organization of a directory', () => {
  test('is read as Carequality has it', () => {
    const organization = madeOrganization({
      number: 7,
      parent: 1,
      position: { latitude: 45.5, longitude: -122.7 },
      gateway: 'https://gateway.example/7',
      npi: '1234567893',
    });
    expect(entryOf({ fullUrl: 'x', resource: organization })).toEqual({
      kind: 'entry',
      updatedMs: 0,
      remarks: [],
      entry: {
        id: '2.999.1.7',
        name: 'Organization 7',
        active: true,
        parentId: '2.999.1.1',
        managedBy: null,
        homeCommunity: '2.999.1.7',
        npi: '1234567893',
        kinds: ['Connection'],
        networks: ['CQ'],
        purposes: ['TREATMENT'],
        city: 'Somewhere',
        state: 'OR',
        zip: '97201',
        latitude: 45.5,
        longitude: -122.7,
        discoveryUrl: 'https://gateway.example/7/discovery',
        queryUrl: 'https://gateway.example/7/query',
        retrieveUrl: 'https://gateway.example/7/retrieve',
        fhirUrl: null,
        endpointIds: [],
        locationIds: [],
      },
    });
  });

  test.each([
    [{ zip: '2472', state: 'MA' }, { zip: '02472' }, 'zip without'],
    [{ zip: '024720123', state: 'MA' }, { zip: '02472' }, undefined],
    [{ zip: '2472', state: 'TX' }, { zip: null }, 'malformed zip'],
    [{ npi: '1234567890' }, { npi: null }, 'malformed NPI'],
    [
      { position: { latitude: -97.7, longitude: 30.4 } },
      { latitude: 30.4, longitude: -97.7 },
      'exchanged',
    ],
    [
      { position: { latitude: 0, longitude: 0 } },
      { latitude: null, longitude: null },
      'malformed position',
    ],
    [{ gateway: 'not an address' }, { discoveryUrl: null }, 'usable address'],
    [{ active: undefined }, { active: true }, 'taken as active'],
  ])('%j is mended or left out, and that is said', (made, expected, remark) => {
    const { entry, remarks } = entryOf({
      ...madeOrganization({ number: 1, ...made }),
      ...('active' in made ? { active: undefined } : {}),
    });
    expect(entry).toMatchObject(expected);
    if (remark === undefined) expect(remarks).toEqual([]);
    else expect(remarks).toEqual([expect.stringContaining(remark)]);
  });

  test('names the transactions of its endpoints in several ways', () => {
    const endpoints = [
      { ...madeEndpoint('', 'https://a.example/off', 1), status: 'off' },
      madeEndpoint('Patient Discovery', 'https://a.example/55', 2),
      madeEndpoint('XCA Retrieve', 'https://a.example/39', 3),
      madeEndpoint('XCA Query', 'https://a.example/38', 4),
      madeEndpoint('FHIR REST', 'https://a.example/fhir', 5),
      madeEndpoint('Direct Messaging', 'mailto:x@a.example', 6),
    ];
    const { entry } = entryOf({
      ...madeOrganization({ number: 1 }),
      contained: endpoints,
    });
    expect(entry).toMatchObject({
      discoveryUrl: 'https://a.example/55',
      queryUrl: 'https://a.example/38',
      retrieveUrl: 'https://a.example/39',
      fhirUrl: 'https://a.example/fhir',
    });
  });

  test('that has no id and no home community is refused', () => {
    const { id: _, identifier: __, ...rest } = madeOrganization({ number: 1 });
    expect(read(rest)).toEqual({ kind: 'refused', reason: 'has no id' });
    expect(readDirectoryResource('{"a":')).toMatchObject({ kind: 'refused' });
  });

  property([fc.jsonValue()])(
    'may be anything: reading never throws',
    (json) => {
      const organization = madeOrganization({ number: 1 });
      for (const name of Object.keys(organization))
        for (const value of [json, [json], { coding: json, extension: json }])
          expect(read({ ...organization, [name]: value }).kind).toBeDefined();
    },
  );
});

test('a zip without an area of its own is placed in the middle of its neighbours', () => {
  expect(positionOfZip('97201')?.latitude).toBeCloseTo(45.5, 1);
  const near = positionOfZip('97207');
  expect(near?.latitude).toBeCloseTo(45.5, 0);
  expect(positionOfZip('00000')).toBeUndefined();
  expect(positionOfZip('9720')).toBeUndefined();
});
