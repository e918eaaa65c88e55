import type { FastifyInstance } from 'fastify';
import type { Json } from '#record-summary/fhir';
import type { Store } from '../../platform/database/database.ts';
import {
  type Feature,
  type GatewayScopes,
  NOTHING_OPEN,
} from '../../platform/feature.ts';
import type { GatewayPlatform } from '../../platform/http/deps.ts';
import {
  FHIR_PATH,
  RESPONDER_PATH,
} from '../../platform/http/operation-outcome.ts';
import { readRecordCompleteness } from '../../records/reading/completeness.ts';
import type { RecordKeeper } from '../../records/record-keeper.ts';
import { hasElement } from '../../records/rules/r4/check-r4.ts';
import { SERVED_TYPES } from '../../records/rules/resource-types.ts';
import { searchParametersOf } from '../../records/rules/search.ts';
import { profilesOfType } from '../../records/rules/us-core/us-core.ts';
import { acceptFhirBodies, createPageCursors, FHIR_JSON } from './bundles.ts';
import { addMatchRoute } from './patient-search.ts';
import { addBinaryRoute, addReadRoutes } from './read-routes.ts';
import {
  createFhirReadAudit,
  type FhirDeps,
  requireJson,
  requireParameters,
} from './requests.ts';
import {
  CAPABILITY_STATEMENT,
  OWN_CAPABILITIES,
  RESPONDER_CAPABILITIES,
  REST_CAPABILITIES,
} from './rules/capabilities.ts';
import { includesOf } from './rules/search-request.ts';
import { addSearchRoutes } from './search-routes.ts';
import { addSummaryRoutes } from './summary/summary-routes.ts';

type FhirRouteDeps = Pick<
  GatewayPlatform,
  'store' | 'blobs' | 'publicBaseUrl' | 'linkSigningKey' | 'idHmacKey'
> & {
  records: RecordKeeper;
};

/** One of the two addresses of the API. */
type Door = Pick<FhirDeps, 'path' | 'isResponder' | 'readStanding'> &
  Pick<FhirRouteDeps, 'publicBaseUrl'>;
/** `audited`: what writes the audit. */
type DoorDeps = Pick<FhirDeps, 'finder'> & { audited: Store };

/**
 * The FHIR R4 API: consolidated records, read-only (docs/fhir.md); and for
 * networks, contributed data (docs/contribution.md).
 */
export const fhirApiFeature = {
  open: NOTHING_OPEN,
  routes({ authenticated, open }: GatewayScopes, deps: FhirRouteDeps) {
    const { store } = deps;
    const own = {
      ...deps,
      path: FHIR_PATH,
      isResponder: false,
      readStanding: readRecordCompleteness,
    };
    const responder = {
      ...deps,
      path: RESPONDER_PATH,
      isResponder: true,
      readStanding: async () => undefined,
      store: { ...store, asAccount: store.asResponder },
    };
    for (const door of [own, responder]) {
      open((scope) => addMetadataRoute(scope, door));
      authenticated((scope) =>
        addFhirRoutes(scope, { ...door, finder: store, audited: store }),
      );
    }
  },
} satisfies Feature;

/** Without a key: clients read it to learn how to authenticate. */
function addMetadataRoute(
  app: FastifyInstance,
  { path, publicBaseUrl, isResponder }: Door,
): void {
  const statement = JSON.stringify(
    capabilityStatement(`${publicBaseUrl}${path}`, isResponder),
  );
  app.get(
    `${path}/metadata`,
    { schema: { hide: true }, config: { operation: 'fhirMetadata' } },
    async (_request, reply) => reply.type(FHIR_JSON).send(statement),
  );
}

function addFhirRoutes(
  app: FastifyInstance,
  {
    publicBaseUrl,
    linkSigningKey,
    audited,
    ...deps
  }: FhirRouteDeps & Door & DoorDeps,
): void {
  acceptFhirBodies(app);
  const fhir: FhirDeps = {
    ...deps,
    cursors: createPageCursors(
      `${linkSigningKey}${deps.isResponder ? deps.path : ''}`,
    ),
    audit: createFhirReadAudit(audited),
    base: `${publicBaseUrl}${deps.path}`,
  };
  app.register(async (json) => {
    json.addHook('preHandler', requireJson);
    json.addHook('preHandler', async (request) => requireParameters(request));
    addSearchRoutes(json, fhir);
    addReadRoutes(json, fhir);
    // Networks read contributed data only, which is no summary of a record.
    if (!fhir.isResponder) addSummaryRoutes(json, fhir);
  });
  addBinaryRoute(app, { ...fhir, blobs: deps.blobs });
  addMatchRoute(app, fhir);
}

const parameter = (name: string, type: string): Json => ({ name, type });

/**
 * US Core demands searches by name, address or specialty of these. Here they
 * are found with a patient, or by id.
 */
const WITHOUT_SEARCHES = [
  'Location',
  'Organization',
  'Practitioner',
  'PractitionerRole',
];

/** Operations on the patient's records: `$docref` is that of US Core. */
const DOCREF = [
  {
    name: 'docref',
    definition: 'http://hl7.org/fhir/us/core/OperationDefinition/docref',
  },
];

function resourceOf(type: string, patient: object): Json {
  const profiles = WITHOUT_SEARCHES.includes(type) ? [] : profilesOfType(type);
  const common = {
    type,
    ...(profiles.length > 0 && { supportedProfile: profiles }),
    interaction: [{ code: 'read' }, { code: 'search-type' }],
    versioning: 'no-version',
    readHistory: false,
    updateCreate: false,
  };
  if (type === 'Patient') return { ...common, ...patient };
  const people = hasElement(type, 'subject')
    ? ['patient', 'subject']
    : ['patient'];
  const own = Object.entries(searchParametersOf(type)).map(([name, { kind }]) =>
    parameter(name, kind),
  );
  return {
    ...common,
    ...(type === 'Consent' && {
      documentation: 'Consents of sources, and those that were recorded here',
    }),
    searchInclude: [
      '*',
      ...Object.keys(includesOf(type)).map((name) => `${type}:${name}`),
    ],
    searchRevInclude: ['Provenance:target'],
    searchParam: [
      parameter('_id', 'token'),
      parameter('_lastUpdated', 'date'),
      ...people.map((name) => parameter(name, 'reference')),
      ...own,
    ],
    ...(type === 'DocumentReference' && { operation: DOCREF }),
  };
}

/**
 * What the FHIR API can do, generated from what it implements. Its date is
 * raised when it changes, so that clients notice.
 */
function capabilityStatement(url: string, isResponder: boolean): Json {
  const { description, documentation, patient, other, ...own } = isResponder
    ? RESPONDER_CAPABILITIES
    : OWN_CAPABILITIES;
  const resource = [
    ...SERVED_TYPES.map((type) => resourceOf(type, patient)),
    ...other,
  ];
  return {
    ...CAPABILITY_STATEMENT,
    ...own,
    implementation: { description, url },
    rest: [{ ...REST_CAPABILITIES, documentation, resource }],
  };
}
