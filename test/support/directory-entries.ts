/*
 * Directories as networks deliver them: made up, with the dirt of real ones.
 */

const SPHD = 'https://sequoiaproject.org/fhir/sphd';

/** OIDs of the simulated network: 2.999.1.<number>. */
export const oidOf = (number: number): string => `2.999.1.${number}`;

export interface MadeOrganization {
  number: number;
  name?: string;
  active?: boolean | undefined;
  parent?: number;
  zip?: string;
  state?: string;
  position?: { latitude: number; longitude: number };
  /** Base address of its three transactions; none: its parent's are used. */
  gateway?: string;
  npi?: string;
  lastUpdated?: string;
  kind?: string;
}

/** An Organization as Carequality's directory has it. */
export function madeOrganization({
  number,
  name = `Organization ${number}`,
  active = true,
  parent,
  zip = '97201',
  state = 'OR',
  position,
  gateway,
  npi,
  lastUpdated,
  kind = 'Connection',
}: MadeOrganization) {
  const oid = oidOf(number);
  const endpoints =
    gateway === undefined
      ? []
      : [
          madeEndpoint('XCPD ITI-55', `${gateway}/discovery`, 1),
          madeEndpoint('XCA ITI-38 Query', `${gateway}/query`, 2),
          madeEndpoint('XCA ITI-39 Retrieve', `${gateway}/retrieve`, 3),
        ];
  return {
    resourceType: 'Organization',
    id: oid,
    ...(lastUpdated === undefined ? {} : { meta: { lastUpdated } }),
    contained: [
      ...(position === undefined
        ? []
        : [{ resourceType: 'Location', id: 'OrgLoc', position }]),
      ...endpoints,
    ],
    extension: [
      {
        url: `${SPHD}/StructureDefinition/Domains`,
        valueCoding: { system: `${SPHD}/CodeSystem/Domains`, code: 'CQ' },
      },
      {
        url: `${SPHD}/StructureDefinition/PurposesOfUse`,
        valueCodeableConcept: { coding: [{ code: 'TREATMENT' }] },
      },
    ],
    identifier: [
      {
        type: { coding: [{ code: 'HCID' }] },
        system: 'urn:ietf:rfc:3986',
        value: `urn:oid:${oid}`,
      },
      ...(npi === undefined
        ? []
        : [{ system: 'http://hl7.org/fhir/sid/us-npi', value: npi }]),
    ],
    active,
    type: [{ coding: [{ code: kind }] }],
    name,
    address: [
      {
        extension: [
          {
            url: `${SPHD}/StructureDefinition/OrgLocation`,
            valueReference: { reference: '#OrgLoc' },
          },
        ],
        city: 'Somewhere',
        state,
        postalCode: zip,
        country: 'US',
      },
    ],
    ...(parent === undefined
      ? {}
      : { partOf: { reference: `Organization/${oidOf(parent)}` } }),
    ...(endpoints.length === 0
      ? {}
      : {
          endpoint: endpoints.map(({ id }) => ({ reference: `#${id}` })),
        }),
  };
}

export const madeEndpoint = (
  transaction: string,
  address: string,
  number: number,
) => ({
  resourceType: 'Endpoint',
  id: `endpoint-${number}`,
  extension: [
    {
      url: `${SPHD}/StructureDefinition/Transaction`,
      valueCodeableConcept: { coding: [{ code: transaction }] },
    },
  ],
  status: 'active',
  address,
});

export const madeBundle = (resources: readonly object[]) => ({
  resourceType: 'Bundle',
  type: 'collection',
  entry: resources.map((resource) => ({ resource })),
});
