import type { FastifyInstance } from 'fastify';
import { type Feature, type GatewayScopes, NOTHING_OPEN } from '../../platform/feature.ts';
import type { GatewayPlatform } from '../../platform/http/deps.ts';
import { FHIR_PATH } from '../../platform/http/operation-outcome.ts';
import type { RecordKeeper } from '../../records/record-keeper.ts';
import type { Json } from '../../records/rules/json.ts';
import { hasElement } from '../../records/rules/r4/check-r4.ts';
import { SERVED_TYPES } from '../../records/rules/resource-types.ts';
import { searchParametersOf } from '../../records/rules/search.ts';
import { profilesOfType } from '../../records/rules/us-core/us-core.ts';
import { acceptFhirBodies, createPageCursors, FHIR_JSON } from './bundles.ts';
import { addMatchRoute } from './patient-search.ts';
import { addBinaryRoute, addReadRoutes } from './read-routes.ts';
import { createFhirReadAudit, type FhirDeps, requireJson } from './requests.ts';
import { includesOf } from './rules/search-request.ts';
import { addSearchRoutes } from './search-routes.ts';

type FhirRouteDeps = Pick<
  GatewayPlatform,
  'store' | 'blobs' | 'publicBaseUrl' | 'linkSigningKey' | 'idHmacKey'
> & {
  records: RecordKeeper;
};

/** The FHIR R4 API: consolidated records, read-only (docs/fhir.md). */
export const fhirApiFeature = {
  open: NOTHING_OPEN,
  routes({ authenticated, open }: GatewayScopes, deps: FhirRouteDeps) {
    open((scope) => addMetadataRoute(scope, deps.publicBaseUrl));
    authenticated((scope) => addFhirRoutes(scope, deps));
  },
} satisfies Feature;

/** Without a key: clients read it to learn how to authenticate. */
function addMetadataRoute(app: FastifyInstance, publicBaseUrl: string): void {
  const statement = JSON.stringify(capabilityStatement(publicBaseUrl));
  app.get(
    `${FHIR_PATH}/metadata`,
    { schema: { hide: true }, config: { operation: 'fhirMetadata' } },
    async (_request, reply) => reply.type(FHIR_JSON).send(statement),
  );
}

function addFhirRoutes(
  app: FastifyInstance,
  { publicBaseUrl, linkSigningKey, ...deps }: FhirRouteDeps,
): void {
  acceptFhirBodies(app);
  const fhir: FhirDeps = {
    ...deps,
    cursors: createPageCursors(linkSigningKey),
    audit: createFhirReadAudit(deps.store),
    base: `${publicBaseUrl}${FHIR_PATH}`,
  };
  app.register(async (json) => {
    json.addHook('preHandler', requireJson);
    addSearchRoutes(json, fhir);
    addReadRoutes(json, fhir);
  });
  addBinaryRoute(app, { ...fhir, blobs: deps.blobs });
  addMatchRoute(app, fhir);
}

/** Raise it when the statement changes, so that clients notice. */
const STATEMENT_DATE = '2026-11-24';

const parameter = (name: string, type: string): Json => ({ name, type });
const ALWAYS = [parameter('_id', 'token'), parameter('_lastUpdated', 'date')];
const PATIENT_PARAMETERS = [
  parameter('identifier', 'token'),
  parameter('name', 'string'),
  parameter('family', 'string'),
  parameter('given', 'string'),
  parameter('birthdate', 'date'),
  parameter('gender', 'token'),
];

/** US Core demands searches by name, address or specialty of these. Here they are found with a patient, or by id. */
const WITHOUT_SEARCHES = ['Location', 'Organization', 'Practitioner', 'PractitionerRole'];

/** Operations on the patient's records: `$docref` is that of US Core. */
const DOCREF = [{ name: 'docref', definition: 'http://hl7.org/fhir/us/core/OperationDefinition/docref' }];

function resourceOf(type: string): Json {
  const interaction = [{ code: 'read' }, { code: 'search-type' }];
  const profiles = WITHOUT_SEARCHES.includes(type) ? [] : profilesOfType(type);
  const supported = profiles.length === 0 ? {} : { supportedProfile: profiles };
  const common = {
    type,
    ...supported,
    interaction,
    versioning: 'no-version',
    readHistory: false,
    updateCreate: false,
  };
  if (type === 'Patient')
    return {
      ...common,
      searchRevInclude: ['Provenance:target'],
      searchParam: [...ALWAYS, ...PATIENT_PARAMETERS],
      operation: [
        { name: 'everything', definition: 'http://hl7.org/fhir/OperationDefinition/Patient-everything' },
        { name: 'match', definition: 'http://hl7.org/fhir/OperationDefinition/Patient-match' },
        { name: 'export', definition: 'http://hl7.org/fhir/uv/bulkdata/OperationDefinition/patient-export' },
      ],
    };
  const people = hasElement(type, 'subject') ? ['patient', 'subject'] : ['patient'];
  const own = Object.entries(searchParametersOf(type)).map(([name, { kind }]) => parameter(name, kind));
  return {
    ...common,
    ...(type === 'Consent'
      ? { documentation: 'Consents of sources, and those that were recorded here' }
      : {}),
    searchInclude: ['*', ...includesOf(type).map((name) => `${type}:${name}`)],
    searchRevInclude: ['Provenance:target'],
    searchParam: [...ALWAYS, ...people.map((name) => parameter(name, 'reference')), ...own],
    ...(type === 'DocumentReference' && { operation: DOCREF }),
  };
}

/** A cohort. */
const GROUP: Json = {
  type: 'Group',
  operation: [
    { name: 'export', definition: 'http://hl7.org/fhir/uv/bulkdata/OperationDefinition/group-export' },
  ],
};

/** The stored documents that DocumentReferences name. */
const BINARY: Json = { type: 'Binary', interaction: [{ code: 'read' }] };

/** What the FHIR API can do, generated from what it implements. */
const capabilityStatement = (publicBaseUrl: string): Json => ({
  resourceType: 'CapabilityStatement',
  instantiates: ['http://hl7.org/fhir/uv/bulkdata/CapabilityStatement/bulk-data'],
  status: 'active',
  date: STATEMENT_DATE,
  kind: 'instance',
  fhirVersion: '4.0.1',
  format: ['application/fhir+json', 'json'],
  software: { name: 'medical-data-exchange' },
  implementation: {
    description: 'Consolidated records of the patients of one account, read-only',
    url: `${publicBaseUrl}${FHIR_PATH}`,
  },
  rest: [
    {
      mode: 'server',
      documentation:
        'Searches other than for Patients name one patient, or ids by _id. Results are newest first, unless sorted by _sort (date, _lastUpdated, -_lastUpdated). _elements and _summary (count, text, data) are supported. Unknown parameters are ignored with a warning, or rejected with "Prefer: handling=strict".',
      security: {
        service: [
          {
            coding: [
              {
                system: 'http://terminology.hl7.org/CodeSystem/restful-security-service',
                code: 'SMART-on-FHIR',
              },
            ],
          },
        ],
        description:
          'An API key of the account, in the header x-api-key or as a bearer token; or a token of SMART Backend Services (.well-known/smart-configuration)',
      },
      resource: [...SERVED_TYPES.map(resourceOf), BINARY, GROUP],
    },
  ],
});
