import type { DirectoryEntryResponse } from '../../../contract/network-directory.ts';
import {
  type Feature,
  type GatewayScopes,
  NOTHING_OPEN,
} from '../../platform/feature.ts';
import { ok } from '../../platform/http/operation.ts';
import type { Operations } from '../../platform/http/operations.ts';
import { type StoredEntry, searchDirectory } from './directory-store.ts';

/** The directories of networks, for callers. */
export const directoryFeature = {
  open: NOTHING_OPEN,
  routes: ({ operations }: GatewayScopes) => addDirectoryRoutes(operations),
} satisfies Feature;

function addDirectoryRoutes(operations: Operations): void {
  operations.read('searchDirectory', async (tx, { query }) => {
    const { count, output, ...filter } = query;
    const found = await searchDirectory(tx, filter, {
      count: count + 1,
      offset: 0,
    });
    return ok({
      entries: found
        .slice(0, count)
        .map((entry) =>
          output === 'fhir' ? toOrganization(entry) : serializeEntry(entry),
        ),
      hasMore: found.length > count,
    });
  });
}

function serializeEntry(entry: StoredEntry): DirectoryEntryResponse {
  const { latitude, longitude, positionFrom } = entry;
  return {
    directory: entry.directory,
    id: entry.id,
    name: entry.name ?? undefined,
    active: entry.active,
    homeCommunity: entry.homeCommunity ?? undefined,
    npi: entry.npi ?? undefined,
    partOf: entry.parentId ?? undefined,
    reachedThrough: entry.gatewayId ?? entry.fhirGatewayId ?? undefined,
    city: entry.city ?? undefined,
    state: entry.state ?? undefined,
    zip: entry.zip ?? undefined,
    position:
      latitude === null || longitude === null || positionFrom === null
        ? undefined
        : { latitude, longitude, from: positionFrom },
  };
}

/** As FHIR R4 has an organization, with its position in an extension. */
function toOrganization(entry: StoredEntry) {
  const { id, name, active, homeCommunity, npi, parentId } = entry;
  const identifiers = [
    ...(homeCommunity === null
      ? []
      : [{ system: 'urn:ietf:rfc:3986', value: `urn:oid:${homeCommunity}` }]),
    ...(npi === null
      ? []
      : [{ system: 'http://hl7.org/fhir/sid/us-npi', value: npi }]),
  ];
  return {
    resourceType: 'Organization' as const,
    id,
    active,
    ...(name === null ? {} : { name }),
    ...(identifiers.length === 0 ? {} : { identifier: identifiers }),
    ...(parentId === null
      ? {}
      : { partOf: { reference: `Organization/${parentId}` } }),
    address: [
      {
        ...(entry.city === null ? {} : { city: entry.city }),
        ...(entry.state === null ? {} : { state: entry.state }),
        ...(entry.zip === null ? {} : { postalCode: entry.zip }),
        country: 'US',
        ...geolocation(entry),
      },
    ],
  };
}

function geolocation({ latitude, longitude }: StoredEntry) {
  if (latitude === null || longitude === null) return {};
  return {
    extension: [
      {
        url: 'http://hl7.org/fhir/StructureDefinition/geolocation',
        extension: [
          { url: 'latitude', valueDecimal: latitude },
          { url: 'longitude', valueDecimal: longitude },
        ],
      },
    ],
  };
}
