import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { v7 as uuidv7 } from 'uuid';
import { describe, expect } from 'vitest';
import type { Store } from '../../src/exchange/platform/database/database.ts';
import {
  putDirectory,
  searchDirectory,
  sumRemarks,
} from '../../src/exchange/sources/directory/directory-store.ts';
import type { LoadCounts } from '../../src/exchange/sources/directory/load-counts.ts';
import { loadDirectory } from '../../src/exchange/sources/directory/load-directory.ts';
import { madeBundle } from '../support/directory-entries.ts';
import { storeTest as test } from '../support/fixtures.ts';

/*
 * Files as the directories of Carequality and TEFCA may be delivered, with the
 * dirt that such files have: made up, because the real ones are for members.
 */

const SPHD = 'https://sequoiaproject.org/fhir/sphd/StructureDefinition';

const organization = (id: string | undefined, rest: object = {}) => ({
  resourceType: 'Organization',
  ...(id === undefined ? {} : { id }),
  active: true,
  name: `Organization ${id}`,
  ...rest,
});

/** An endpoint as TEFCA's directory contains it. */
const endpoint = (address: unknown, rest: object = {}) => ({
  resourceType: 'Endpoint',
  id: 'e',
  status: 'active',
  connectionType: { code: 'hl7-fhir-rest' },
  address,
  ...rest,
});
const served = (id: string, address: unknown, rest: object = {}) =>
  organization(id, { contained: [endpoint(address, rest)] });
const versioned = (version: string) => ({
  extension: [
    {
      url: `${SPHD}/Transaction`,
      valueCodeableConcept: { coding: [{ code: 'FHIR REST' }] },
    },
    { url: `${SPHD}/Version`, valueString: version },
  ],
});
const partOf = (parent: object) => ({ partOf: parent });
const at = (address: object) => ({ address: [address] });
const npi = (value: unknown, rest: object = {}) => ({
  identifier: [{ system: 'http://hl7.org/fhir/sid/us-npi', value, ...rest }],
});
const hcid = (value: string) => ({
  type: { coding: [{ code: 'HCID' }] },
  value,
});
const lines = (...resources: unknown[]): string =>
  resources.map((each) => `${JSON.stringify(each)}\n`).join('');
const bundle = (...resources: object[]): string =>
  JSON.stringify(madeBundle(resources));

const PRIVATE =
  'has an address without https, of this machine or in a private network';
const NOT_IN_USE = 'has an endpoint that is not in use: it is left out';
const OTHER_VERSION =
  'has a FHIR endpoint of another version than R4: it is left out';
const UNUSABLE = 'has an endpoint without a usable address';
const UNNAMED_PARENT = 'is part of something that it does not name by an id';
const NO_PARENT = 'is part of an organization that the directory does not have';
const CIRCLE = 'is above itself';
const SEVERAL = 'has several endpoints for one transaction: the first is taken';

/** A file, what its items come to, what is said of them, and what entries are. */
interface DirtyFile {
  file: string;
  counts: Partial<LoadCounts>;
  /** How many items each remark is on. */
  remarks: Record<string, number>;
  /** Of entries by id: the entry of their FHIR server, and other members. */
  servers?: Record<string, string | null>;
  members?: Record<string, object>;
}

const FILES: Record<string, DirtyFile> = {
  'ids that repeat, and that differ by their case only': {
    file: bundle(
      served('A', 'https://a.example/fhir', { meta: {} }),
      organization('a'),
      organization('A', { meta: { lastUpdated: '2020-01-01' } }),
    ),
    counts: { read: 3, added: 2, repeated: 1 },
    remarks: { 'repeats an id: this one counts': 1 },
    servers: { A: null, a: null },
  },
  'zips that a spreadsheet has had': {
    file: lines(
      organization('1', at({ state: 'MA', postalCode: 2108 })),
      organization('2', at({ state: 'massachusetts', postalCode: '21081234' })),
      organization('3', at({ state: 'TX', postalCode: '2472' })),
      organization('4', at({ state: 'US-OR', postalCode: '00000' })),
      organization('5', at({ state: 'BC', postalCode: 'V6B 1A1' })),
    ),
    counts: { read: 5, added: 5, remarked: 5 },
    remarks: {
      'has a zip without its leading zero: it is put back': 2,
      'has a malformed zip': 3,
      'has an unknown state': 1,
    },
    members: {
      1: { zip: '02108', state: 'MA', positionFrom: 'zip' },
      2: { zip: '02108', state: 'MA' },
      3: { zip: null, state: 'TX' },
      4: { zip: null, state: 'OR' },
      5: { zip: null, state: null },
    },
  },
  'NPIs with a wrong digit, with dashes, and old ones': {
    file: bundle(
      organization('1', npi('1234567890')),
      organization('2', npi('123-456-7893')),
      organization('3', npi(808401234567893)),
      organization('4', npi('1234567893', { use: 'old' })),
      organization('5', npi('1234567893', { period: { end: '2019' } })),
    ),
    counts: { read: 5, added: 5, remarked: 3 },
    remarks: {
      'has a malformed NPI': 1,
      'has an NPI with other characters around it: they are left out': 2,
    },
    members: {
      1: { npi: null },
      2: { npi: '1234567893' },
      3: { npi: '1234567893' },
      4: { npi: null },
      5: { npi: null },
    },
  },
  'entries that are reached through parents, however these are named': {
    file: lines(
      served('2.999.5', 'https://parent.example/fhir'),
      organization('1', partOf({ reference: 'Organization/2.999.5/' })),
      organization(
        '2',
        partOf({ reference: 'https://d.example/R4/Organization/2.999.5' }),
      ),
      organization('3', partOf({ identifier: { value: 'urn:oid:2.999.5' } })),
      organization(
        '4',
        partOf({ reference: 'Organization?identifier=x|urn:oid:2.999.5' }),
      ),
      organization('5', partOf({ display: 'Parent' })),
      organization('6', partOf({ reference: '#parent' })),
      organization('7', partOf({ reference: 'Organization/gone' })),
    ),
    counts: { read: 8, added: 8, remarked: 2 },
    remarks: { [UNNAMED_PARENT]: 2, [NO_PARENT]: 1 },
    servers: {
      '2.999.5': '2.999.5',
      1: '2.999.5',
      2: '2.999.5',
      3: '2.999.5',
      4: '2.999.5',
      5: null,
      6: null,
      7: null,
    },
  },
  'parents in a circle, and one that is its own': {
    file: bundle(
      served('1', 'https://a.example/fhir', {}),
      organization('2', partOf({ reference: 'Organization/3' })),
      organization('3', partOf({ reference: 'Organization/4' })),
      organization('4', partOf({ reference: 'Organization/2' })),
      organization('5', partOf({ reference: 'Organization/5' })),
    ),
    counts: { read: 5, added: 5, remarked: 0 },
    remarks: { [CIRCLE]: 4 },
    servers: { 1: '1', 2: null, 3: null, 4: null, 5: null },
  },
  'lines with a mark, blank ones and broken ones': {
    file: `\uFEFF${lines(organization('1'))}\r\n  \r\nnull\n[]\n"text"\n{"resourceType":\n${lines(organization('2'))}\n\n`,
    counts: { read: 6, added: 2, refused: 4 },
    remarks: { 'refused: it is no JSON object': 4 },
  },
  'a Bundle of 25,000 entries': {
    file: bundle(
      ...Array.from({ length: 25_000 }, (_, index) =>
        index % 50 === 0
          ? served(`${index}`, `https://s${index}.example/fhir`)
          : organization(
              `${index}`,
              partOf({
                reference: `Organization/${index - (index % 50)}`,
              }),
            ),
      ),
    ),
    counts: { read: 25_000, added: 25_000 },
    remarks: {},
    servers: { 24999: '24950' },
  },
  'FHIR of other versions': {
    file: lines(
      served('1', 'https://a.example/stu3', versioned('3.0.2')),
      served('2', 'https://b.example/r4', versioned('4.0.1')),
      served('3', 'https://c.example/r5', {
        payloadMimeType: ['application/fhir+json; fhirVersion=5.0'],
      }),
      organization('4', {
        contained: [
          endpoint('https://d.example/stu3', versioned('STU3')),
          endpoint('https://d.example/r4', versioned('R4')),
        ],
      }),
    ),
    counts: { read: 4, added: 4, remarked: 3 },
    remarks: { [OTHER_VERSION]: 3 },
    servers: { 1: null, 2: '2', 3: null, 4: '4' },
    members: { 4: { fhirUrl: 'https://d.example/r4' } },
  },
  'connections that are not asked for patients': {
    file: bundle(
      ...[
        'hl7-fhir-msg',
        'hl7-fhir-opn',
        'direct-project',
        'dicom-wado-rs',
        'hl7v2-mllp',
        'carrier-pigeon',
      ].map((code, index) =>
        served(`${index}`, 'https://a.example/x', {
          name: 'FHIR interface'.slice(0, code.startsWith('hl7-fhir') ? 14 : 0),
          connectionType: { code },
        }),
      ),
    ),
    counts: { read: 6, added: 6, remarked: 0 },
    remarks: {},
    servers: { 0: null, 1: null, 2: null, 3: null, 4: null, 5: null },
  },
  'endpoints that are off, ended, or for tests': {
    file: lines(
      served('1', 'https://a.example', { status: 'Off' }),
      served('2', 'https://a.example', { status: 'test' }),
      served('3', 'https://a.example', { period: { end: '2024-12-31' } }),
      served('4', 'https://a.example', { period: { end: '2099-12-31' } }),
    ),
    counts: { read: 4, added: 4, remarked: 3 },
    remarks: { [NOT_IN_USE]: 3 },
    servers: { 1: null, 2: null, 3: null, 4: '4' },
  },
  'inactive entries in many words, between a server and its members': {
    file: bundle(
      served('1', 'https://a.example/fhir'),
      organization('2', {
        ...partOf({ reference: 'Organization/1' }),
        active: 'FALSE',
      }),
      organization('3', partOf({ reference: 'Organization/2' })),
      served('4', 'https://b.example/fhir', {}),
      { ...served('5', 'https://b.example/fhir'), active: 'No' },
      organization('6', { active: null }),
    ),
    counts: { read: 6, added: 6, remarked: 1 },
    remarks: { 'does not say whether it is active: taken as active': 1 },
    servers: { 1: '1', 2: '1', 3: '1', 4: '4', 5: '4', 6: null },
    members: { 2: { active: false }, 5: { active: false } },
  },
  'one server that is written in many ways': {
    file: lines(
      served('3', 'HTTPS://Server.Example:443/fhir'),
      served('1', 'https://server.example/fhir/'),
      served('2', 'https://server.example/fhir/metadata?_format=json'),
      served('4', 'https://server.example/FHIR'),
    ),
    counts: { read: 4, added: 4, remarked: 0 },
    remarks: {},
    servers: { 1: '1', 2: '1', 3: '1', 4: '4' },
  },
  'addresses of this machine, of private networks, and no addresses': {
    file: bundle(
      ...[
        'https://localhost:8443/fhir',
        'https://127.0.0.1/fhir',
        'https://[::1]/fhir',
        'https://10.1.2.3/fhir',
        'https://intranet/fhir',
        'http://plain.example/fhir',
        'https://user:password@a.example/fhir',
        'N/A',
        'a.example/fhir',
        'ftp://a.example',
      ].map((address, index) => served(`${index}`, address)),
    ),
    counts: { read: 10, added: 10, remarked: 10 },
    remarks: { [PRIVATE]: 6, [UNUSABLE]: 4 },
  },
  'endpoints and locations of their own, some of nobody': {
    file: lines(
      endpoint('https://a.example/fhir', {
        id: 'e1',
        managingOrganization: {
          reference: 'https://d.example/Organization/1/_history/3',
        },
      }),
      endpoint('https://b.example/fhir', { id: 'e2' }),
      endpoint('https://c.example/fhir', { id: 'e3' }),
      { resourceType: 'Location', id: 'l', position: {} },
      organization('1'),
      organization('2', { endpoint: [{ reference: './Endpoint/e2' }] }),
      organization('3', { endpoint: [{ reference: 'Endpoint/gone' }] }),
    ),
    counts: { read: 7, added: 3, parts: 4, remarked: 0 },
    remarks: {
      'belongs to no organization of the directory': 2,
      'names an endpoint or location that the directory does not have': 1,
      'has a malformed position': 1,
    },
    servers: { 1: '1', 2: '2', 3: null },
  },
  'a Bundle whose entries have addresses instead of ids, and others': {
    file: JSON.stringify({
      resourceType: 'Bundle',
      type: 'transaction',
      entry: [
        {
          fullUrl: 'urn:uuid:0a7d',
          resource: {
            ...served('', 'https://a.example/fhir'),
            id: undefined,
          },
        },
        {
          fullUrl: 'urn:uuid:0a7e',
          resource: organization(
            undefined,
            partOf({ reference: 'urn:uuid:0a7d' }),
          ),
        },
        { fullUrl: 'x', request: { method: 'DELETE' } },
        { resource: { resourceType: 'OperationOutcome' } },
        { resource: organization(undefined) },
        null,
      ],
    }),
    counts: { read: 6, added: 2, ignored: 1, refused: 3, remarked: 2 },
    remarks: {
      'has no id: its home community or address is taken': 2,
      'refused: it has no resourceType': 1,
      'refused: it has no id': 1,
      'refused: it is no resource': 1,
    },
    servers: { '0a7d': '0a7d', '0a7e': '0a7d' },
  },
  'old addresses, several home communities and several servers': {
    file: bundle(
      organization('1', {
        address: [
          { use: 'old', state: 'TX', postalCode: '75001' },
          { country: 'US' },
          { state: 'ma', postalCode: '02108' },
        ],
      }),
      organization('2', {
        identifier: [hcid('URN:OID:2.999.1'), hcid('urn:oid:2.999.2')],
      }),
      organization('3', { identifier: [hcid('urn:oid:urn:oid:2.999.3')] }),
      organization('4', {
        contained: [
          endpoint('https://a.example/fhir'),
          endpoint('https://b.example/fhir'),
        ],
      }),
    ),
    counts: { read: 4, added: 4, remarked: 3 },
    remarks: {
      'has several home communities: the first is taken': 1,
      'has a malformed home community': 1,
      [SEVERAL]: 1,
    },
    members: {
      1: { state: 'MA', zip: '02108' },
      2: { homeCommunity: '2.999.1' },
      3: { homeCommunity: null },
      4: { fhirUrl: 'https://a.example/fhir' },
    },
  },
};

async function load(store: Store, file: string) {
  const directory = `dirty-${uuidv7().slice(-12)}`;
  const path = join(await mkdtemp(join(tmpdir(), 'dirty-')), 'file');
  await writeFile(path, file);
  await store.asSystem((tx) => putDirectory(tx, directory, {}));
  const loadId = uuidv7();
  const { counts } = await loadDirectory(
    { store },
    { directory, loadId },
    { address: pathToFileURL(path).href },
    new AbortController().signal,
  );
  const remarks = await store.asSystem((tx) => sumRemarks(tx, loadId));
  const find = async (id: string) => {
    const [entry] = await store.asSystem((tx) =>
      searchDirectory(tx, { directory, id }, { count: 1, offset: 0 }),
    );
    return entry;
  };
  return { counts, remarks, find };
}

describe('a directory’s file accounts for each of its items:', () => {
  test.for(Object.entries(FILES))('%s', async ([, dirty], { store }) => {
    const { counts, remarks, find } = await load(store, dirty.file);
    const { read, removed, remarked, ...ends } = counts;
    expect(Object.values(ends).reduce((sum, each) => sum + each)).toBe(read);
    expect(counts).toMatchObject(dirty.counts);
    expect(
      Object.fromEntries(remarks.map(({ remark, items }) => [remark, items])),
    ).toEqual(dirty.remarks);
    for (const [id, server] of Object.entries(dirty.servers ?? {}))
      expect([id, (await find(id))?.fhirGatewayId]).toEqual([id, server]);
    for (const [id, members] of Object.entries(dirty.members ?? {}))
      expect(await find(id)).toMatchObject(members);
  });
});
