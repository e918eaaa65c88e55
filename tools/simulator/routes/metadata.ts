import type {
  CapabilityStatement,
  CapabilityStatementRestResource,
} from 'fhir/r4.js';
import {
  DOCUMENT_TYPES,
  PATIENT_TYPES,
  SHARED_TYPES,
} from '../data/knowledge.ts';
import { okResponse, refusalResponse } from '../response.ts';
import type { Source, SourceCall } from '../source.ts';
import type { Route } from './route.ts';

type Interaction = NonNullable<
  CapabilityStatementRestResource['interaction']
>[number]['code'];

/**
 * Served without authentication, so that a client can find the token endpoint.
 */
export const metadataRoutes: Route[] = [
  {
    method: 'GET',
    path: '/metadata',
    operation: 'metadata',
    open: () => true,
    answer: (call) =>
      call.source.settings().metadata
        ? okResponse(capabilityStatement(call))
        : refusalResponse(
            404,
            'not-supported',
            'This server has no CapabilityStatement.',
          ),
  },
  {
    method: 'GET',
    path: '/.well-known/smart-configuration',
    operation: 'metadata',
    open: () => true,
    answer: (call) => {
      const url = tokenUrl(call);
      if (!url)
        return refusalResponse(
          404,
          'not-supported',
          'This server uses fixed bearer tokens.',
        );
      const body = { token_endpoint: url, ...SMART_CONFIGURATION };
      return { status: 200, contentType: 'application/json', body };
    },
  },
];

/** What a SMART server says of itself, besides its addresses. */
const SMART_CONFIGURATION = {
  grant_types_supported: ['client_credentials'],
  token_endpoint_auth_methods_supported: [
    'client_secret_basic',
    'client_secret_post',
  ],
  scopes_supported: ['system/*.read'],
  capabilities: ['client-confidential-symmetric', 'permission-v1'],
};

/** Says what the source really serves under its present settings, no more. */
function capabilityStatement(call: SourceCall): CapabilityStatement {
  const { name } = call.source;
  const { documentNetwork } = call.source.settings();
  return {
    resourceType: 'CapabilityStatement',
    status: 'active',
    date: '2026-01-01',
    kind: 'instance',
    fhirVersion: '4.0.1',
    format: ['json'],
    software: { name: `Simulated ${name} network` },
    implementation: {
      description: 'Stand-in source with synthetic patients only',
      url: call.baseUrl,
    },
    ...(documentNetwork ? { instantiates: iheActors(call.source) } : {}),
    rest: [
      {
        mode: 'server',
        security: security(call),
        ...(call.source.settings().changes === 'untimed'
          ? {}
          : { searchParam: [{ name: '_lastUpdated', type: 'date' as const }] }),
        ...(documentNetwork && call.source.settings().match
          ? { operation: [PDQM_MATCH] }
          : {}),
        resource: documentNetwork
          ? documentNetworkResources(call.source)
          : [
              patientResource(call.source),
              ...PATIENT_TYPES[name].map((type) =>
                resource(
                  type,
                  ['read', 'search-type'],
                  ['_id', 'patient', 'subject', 'category'],
                ),
              ),
              ...SHARED_TYPES[name].map((type) =>
                resource(type, ['read', 'search-type'], ['_id']),
              ),
              ...(name === 'hie' ? [resource('Binary', ['read'], [])] : []),
            ],
      },
    ],
  };
}

/** As PDQm's own statement of a supplier has it. */
const PDQM_MATCH = {
  name: 'PDQm $Match',
  definition: 'https://profiles.ihe.net/ITI/PDQm/OperationDefinition/PDQmMatch',
};

const iheActors = (source: Source): string[] => [
  'https://profiles.ihe.net/ITI/MHD/CapabilityStatement/IHE.MHD.DocumentResponder',
  ...(source.settings().match
    ? [
        'https://profiles.ihe.net/ITI/PDQm/CapabilityStatement/IHE.PDQm.PatientDemographicsSupplier',
      ]
    : []),
];

const documentNetworkResources = (
  source: Source,
): CapabilityStatementRestResource[] => [
  { ...patientResource(source), operation: undefined },
  ...DOCUMENT_TYPES.map((type) =>
    resource(type, ['read', 'search-type'], ['_id', 'patient', 'status']),
  ),
  resource('Binary', ['read'], []),
];

function patientResource(source: Source): CapabilityStatementRestResource {
  const { match, everything, async } = source.settings();
  const params = [
    '_id',
    'family',
    'given',
    'birthdate',
    'gender',
    'address-postalcode',
    'identifier',
  ];
  return {
    ...resource('Patient', ['read', 'search-type'], params),
    operation: [
      ...(match
        ? [
            {
              name: 'match',
              definition:
                'http://hl7.org/fhir/OperationDefinition/Patient-match',
            },
          ]
        : []),
      ...(everything
        ? [
            {
              name: 'everything',
              definition:
                'http://hl7.org/fhir/OperationDefinition/Patient-everything',
              documentation: async
                ? 'Honours Prefer: respond-async.'
                : 'Answers synchronously.',
            },
          ]
        : []),
    ],
  };
}

const resource = (
  type: CapabilityStatementRestResource['type'],
  interactions: Interaction[],
  params: string[],
): CapabilityStatementRestResource => ({
  type,
  interaction: interactions.map((code) => ({ code })),
  searchParam: params.map((name) => ({
    name,
    type: SEARCH_PARAM_TYPES[name] ?? 'token',
  })),
});

const SEARCH_PARAM_TYPES: Readonly<
  Record<string, 'string' | 'date' | 'reference'>
> = {
  family: 'string',
  given: 'string',
  'address-postalcode': 'string',
  birthdate: 'date',
  patient: 'reference',
  subject: 'reference',
};

function security(call: SourceCall) {
  const url = tokenUrl(call);
  if (!url)
    return { description: 'A fixed bearer token in the Authorization header.' };
  const extension = [
    {
      url: 'http://fhir-registry.smarthealthit.org/StructureDefinition/oauth-uris',
      extension: [{ url: 'token', valueUri: url }],
    },
  ];
  const system =
    'http://terminology.hl7.org/CodeSystem/restful-security-service';
  return {
    extension,
    service: [{ coding: [{ system, code: 'SMART-on-FHIR' }] }],
  };
}

function tokenUrl(call: SourceCall): string | undefined {
  const { tokenPath } = call.source;
  return tokenPath && new URL(tokenPath, call.baseUrl).href;
}
