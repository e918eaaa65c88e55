import type { Composition, Device, DeviceUseStatement } from 'fhir/r4.js';
import { v7 as uuidv7 } from 'uuid';
import { personFacts, type SummaryPart } from '#record-summary';
import { isJson, type Json, textOf } from '#record-summary/fhir';
import type { Store } from '../../../platform/database/database.ts';
import { completenessMeta } from '../../../records/reading/completeness.ts';
import { openRecordReader } from '../../../records/reading/record-reader.ts';
import { withAddressesAt } from '../../../records/rules/attachment-addresses.ts';
import { derivedUuid } from '../../../records/rules/ids.ts';
import { parseLocalReference } from '../../../records/rules/references.ts';
import {
  readIncluded,
  readServed,
  type ServedResource,
} from '../search-record.ts';
import {
  hasProfile,
  ipsProfile,
  withIpsClaims,
  withProfile,
} from './ips-claims.ts';
import { type IpsSection, ipsSections, SECTION_TYPES } from './ips-sections.ts';
import { narrativeOf } from './narrative.ts';

const COMPOSITION = {
  resourceType: 'Composition',
  language: 'en',
  status: 'final',
  type: {
    coding: [
      {
        system: 'http://loinc.org',
        code: '60591-5',
        display: 'Patient summary Document',
      },
    ],
  },
  title: 'International Patient Summary',
} satisfies Partial<Composition>;

const AUTHOR = {
  resourceType: 'Device',
  deviceName: [
    {
      name: 'medical-data-exchange',
      type: 'model-name',
    },
  ],
  type: {
    text: 'Software that assembled this summary from the data of the sources',
  },
} satisfies Partial<Device>;

const USE = {
  resourceType: 'DeviceUseStatement',
  status: 'active',
  _timingDateTime: {
    extension: [
      {
        url: 'http://hl7.org/fhir/StructureDefinition/data-absent-reason',
        valueCode: 'unknown',
      },
    ],
  },
} satisfies Partial<DeviceUseStatement>;

/**
 * What entries refer to and the document holds too; references to other types
 * become logical.
 */
const INCLUDED: ReadonlySet<string> = new Set([
  'Device',
  'Location',
  'Medication',
  'Organization',
  'Practitioner',
  'PractitionerRole',
  'Specimen',
]);

/** The types that the document may have. */
export const SUMMARY_TYPES: ReadonlySet<string> = new Set([
  'Patient',
  ...SECTION_TYPES,
  ...INCLUDED,
]);

/**
 * A patient's International Patient Summary (hl7.fhir.uv.ips 2.0.0): a document
 * with the current part of the consolidated record. Call `RecordKeeper.merge`
 * before.
 *
 * @param base URL of the FHIR API, without a trailing slash
 * @throws NotFoundError when the patient does not exist
 */
export async function ipsDocument(
  store: Pick<Store, 'asAccount'>,
  {
    accountId,
    patientId,
    base,
  }: { accountId: string; patientId: string; base: string },
): Promise<Json> {
  const madeAt = new Date();
  const reader = await openRecordReader(store, {
    accountId,
    patientId,
    filter: {},
  });
  const sections = await ipsSections(reader, madeAt);
  const wanted = [
    { resourceType: 'Patient', id: patientId },
    ...sections.flatMap(({ entries }) => entries),
  ];
  const once = [...new Map(wanted.map((each) => [each.id, each])).values()];
  const served = await store.asAccount(accountId, async (tx) => {
    const own = await readServed(tx, patientId, once);
    const include = (of: readonly ServedResource[]) =>
      readIncluded(tx, patientId, of, [{ path: '*' }], (type) =>
        INCLUDED.has(type),
      );
    const { resources: first } = await include(own);
    // A PractitionerRole refers to who has it, and where.
    const { resources: second } = await include(first);
    return [
      ...new Map(
        [...own, ...first, ...second].map((each) => [each.id, each.json]),
      ).values(),
    ];
  });
  const devices = served.filter(
    ({ resourceType }) => resourceType === 'Device',
  );
  const listed = new Set(
    sections.flatMap(({ entries }) => entries.map(({ id }) => id)),
  );
  const uses = devices
    .filter(({ id }) => listed.has(String(id)))
    .map((each) => useOf(each, patientId));
  const author = authorOf(patientId);
  const all = [...served, author, ...uses];
  const names = new Set(all.map(referenceTo));
  const claiming = withIpsClaims(all.map((each) => closed(each, names, base)));
  // The guide's document is about a Patient of the guide.
  const isIps =
    claiming[0] !== undefined && hasProfile(claiming[0], ipsProfile('Patient'));
  const claimed = (of: Json, name: string) =>
    isIps ? withProfile(of, ipsProfile(name)) : of;
  const patient = served.find(({ resourceType }) => resourceType === 'Patient');
  const composition = {
    ...compositionOf(patientId, madeAt, author, sections, names),
    text: await personNarrative(patient ?? {}, madeAt),
  };
  const bundle = {
    resourceType: 'Bundle',
    meta: completenessMeta(reader.standing),
    identifier: { system: 'urn:ietf:rfc:3986', value: `urn:uuid:${uuidv7()}` },
    type: 'document',
    timestamp: madeAt.toISOString(),
    entry: [claimed(composition, 'Composition'), ...claiming].map(
      (resource) => ({
        fullUrl: `${base}/${referenceTo(resource)}`,
        resource: withAddressesAt(base, resource),
      }),
    ),
  };
  return claimed(bundle, 'Bundle');
}

const referenceTo = ({ resourceType, id }: Json): string =>
  `${String(resourceType)}/${String(id)}`;

/** Who it is about, as the head of every page says it. */
function personNarrative(patient: Json, madeAt: Date) {
  async function* parts(): AsyncGenerator<SummaryPart> {
    for (const { label, value, tone } of personFacts(patient, madeAt))
      yield { kind: 'note', text: `${label}: ${value}`, tone };
  }
  return narrativeOf(parts());
}

function compositionOf(
  patientId: string,
  madeAt: Date,
  author: Json,
  sections: readonly IpsSection[],
  names: ReadonlySet<string>,
): Json {
  return {
    ...COMPOSITION,
    id: derivedUuid([patientId, 'Composition', 'patient-summary']),
    subject: { reference: `Patient/${patientId}` },
    date: madeAt.toISOString(),
    author: [{ reference: referenceTo(author) }],
    section: sections.map(({ json, entries }) => {
      const references = entries
        .map(({ resourceType, id }) =>
          resourceType === 'Device'
            ? `DeviceUseStatement/${useId(id)}`
            : `${resourceType}/${id}`,
        )
        .filter((name) => names.has(name))
        .map((reference) => ({ reference }));
      // FHIR forbids empty arrays.
      return references.length === 0 ? json : { ...json, entry: references };
    }),
  };
}

/**
 * The software that put the summary together; what it states is the sources'.
 */
const authorOf = (patientId: string): Json => ({
  ...AUTHOR,
  id: derivedUuid([patientId, 'Device', 'patient-summary']),
});

const useId = (deviceId: string): string =>
  derivedUuid([deviceId, 'DeviceUseStatement']);

/**
 * A section of devices has statements of use; sources deliver the Device of a
 * patient, and no time of its use.
 */
const useOf = ({ id, patient }: Json, patientId: string): Json => ({
  ...USE,
  id: useId(String(id)),
  subject: patient ?? { reference: `Patient/${patientId}` },
  device: { reference: `Device/${String(id)}` },
});

/**
 * A copy whose references point into the document, or are logical: the address
 * of the resource on the FHIR API.
 */
function closed<T>(value: T, names: ReadonlySet<string>, base: string): T {
  const copy = (item: unknown): unknown => {
    if (Array.isArray(item)) return item.map(copy);
    if (!isJson(item)) return item;
    const copied = Object.fromEntries(
      Object.entries(item).map(([name, part]) => [name, copy(part)]),
    );
    const target = parseLocalReference(textOf(item.reference) ?? '');
    if (target === undefined || names.has(`${target.type}/${target.id}`))
      return copied;
    const { reference, ...rest } = copied;
    const identifier = {
      system: 'urn:ietf:rfc:3986',
      value: `${base}/${String(reference)}`,
    };
    return { type: target.type, identifier, ...rest };
  };
  return copy(value) as T;
}
