import type {
  CapabilityStatement,
  CapabilityStatementRest,
  CapabilityStatementRestResource,
} from 'fhir/r4.js';

/** What is the same at both addresses of the FHIR API. */
export const CAPABILITY_STATEMENT = {
  resourceType: 'CapabilityStatement',
  status: 'active',
  date: '2026-11-28',
  kind: 'instance',
  fhirVersion: '4.0.1',
  format: ['application/fhir+json', 'json'],
  software: {
    name: 'medical-data-exchange',
  },
} satisfies Partial<CapabilityStatement>;

export const REST_CAPABILITIES = {
  mode: 'server',
  security: {
    service: [
      {
        coding: [
          {
            system:
              'http://terminology.hl7.org/CodeSystem/restful-security-service',
            code: 'SMART-on-FHIR',
          },
        ],
      },
    ],
    description:
      'An API key of the account, in the header x-api-key or as a bearer token; or a token of SMART Backend Services (.well-known/smart-configuration)',
  },
} satisfies Partial<CapabilityStatementRest>;

/** What one of the addresses can do. */
interface DoorCapabilities
  extends Pick<CapabilityStatement, 'instantiates'>,
    Pick<CapabilityStatementRest, 'documentation'> {
  description: string;
  /** Beyond what every served type has. */
  patient: Partial<CapabilityStatementRestResource>;
  /** Types that are not served as parts of records. */
  other: readonly CapabilityStatementRestResource[];
}

/** For the account that has the records. */
export const OWN_CAPABILITIES: DoorCapabilities = {
  instantiates: [
    'http://hl7.org/fhir/uv/bulkdata/CapabilityStatement/bulk-data',
    'http://hl7.org/fhir/uv/subscriptions-backport/CapabilityStatement/backport-subscription-server-r4',
  ],
  description:
    'Consolidated records of the patients of one account, read-only but for Subscriptions',
  documentation:
    'Searches other than for Patients name one patient, or ids by _id. Results are newest first, unless sorted by _sort (date, _lastUpdated, -_lastUpdated). _elements and _summary (count, text, data) are supported. Unknown parameters are ignored with a warning, or rejected with "Prefer: handling=strict".',
  patient: {
    searchRevInclude: ['Provenance:target'],
    searchParam: [
      {
        name: '_id',
        type: 'token',
      },
      {
        name: '_lastUpdated',
        type: 'date',
      },
      {
        name: 'identifier',
        type: 'token',
      },
      {
        name: 'name',
        type: 'string',
      },
      {
        name: 'family',
        type: 'string',
      },
      {
        name: 'given',
        type: 'string',
      },
      {
        name: 'birthdate',
        type: 'date',
      },
      {
        name: 'gender',
        type: 'token',
      },
    ],
    operation: [
      {
        name: 'everything',
        definition:
          'http://hl7.org/fhir/OperationDefinition/Patient-everything',
      },
      {
        name: 'match',
        definition: 'http://hl7.org/fhir/OperationDefinition/Patient-match',
      },
      {
        name: 'summary',
        definition: 'http://hl7.org/fhir/uv/ips/OperationDefinition/summary',
      },
      {
        name: 'export',
        definition:
          'http://hl7.org/fhir/uv/bulkdata/OperationDefinition/patient-export',
      },
    ],
  },
  other: [
    {
      type: 'Binary',
      interaction: [
        {
          code: 'read',
        },
      ],
    },
    {
      type: 'Group',
      operation: [
        {
          name: 'export',
          definition:
            'http://hl7.org/fhir/uv/bulkdata/OperationDefinition/group-export',
        },
      ],
    },
    {
      type: 'Subscription',
      extension: [
        {
          url: 'http://hl7.org/fhir/uv/subscriptions-backport/StructureDefinition/capabilitystatement-subscriptiontopic-canonical',
          valueCanonical:
            'http://hl7.org/fhir/us/core/SubscriptionTopic/patient-data-feed',
        },
        {
          url: 'http://hl7.org/fhir/uv/subscriptions-backport/StructureDefinition/capabilitystatement-subscriptiontopic-canonical',
          valueCanonical: 'urn:medical-exchange:topic:encounter-notifications',
        },
        {
          url: 'http://hl7.org/fhir/uv/subscriptions-backport/StructureDefinition/capabilitystatement-subscriptiontopic-canonical',
          valueCanonical: 'urn:medical-exchange:topic:query-completed',
        },
      ],
      supportedProfile: [
        'http://hl7.org/fhir/uv/subscriptions-backport/StructureDefinition/backport-subscription',
      ],
      documentation:
        'Topic-based subscriptions by rest-hook; docs/subscriptions.md',
      interaction: [
        {
          code: 'read',
        },
        {
          code: 'create',
        },
        {
          code: 'update',
        },
        {
          code: 'delete',
        },
        {
          code: 'search-type',
        },
      ],
      versioning: 'versioned',
      readHistory: false,
      updateCreate: false,
      searchParam: [
        {
          name: '_id',
          type: 'token',
        },
        {
          name: 'url',
          type: 'uri',
          definition: 'http://hl7.org/fhir/SearchParameter/Subscription-url',
        },
        {
          name: 'status',
          type: 'token',
          definition: 'http://hl7.org/fhir/SearchParameter/Subscription-status',
        },
        {
          name: 'criteria',
          type: 'string',
          definition:
            'http://hl7.org/fhir/SearchParameter/Subscription-criteria',
        },
      ],
      operation: [
        {
          name: 'status',
          definition:
            'http://hl7.org/fhir/uv/subscriptions-backport/OperationDefinition/backport-subscription-status',
        },
        {
          name: 'events',
          definition:
            'http://hl7.org/fhir/uv/subscriptions-backport/OperationDefinition/backport-subscription-events',
        },
      ],
    },
    {
      type: 'Basic',
      documentation: 'The topics of subscriptions',
      interaction: [
        {
          code: 'read',
        },
        {
          code: 'search-type',
        },
      ],
    },
  ],
};

/** For networks that ask for what an account contributed. */
export const RESPONDER_CAPABILITIES: DoorCapabilities = {
  description:
    'What one account contributed about its patients, for networks, read-only',
  documentation:
    'A patient is found by Patient/$match. Searches name one patient, or ids by _id. Results are newest first, unless sorted by _sort (date, _lastUpdated, -_lastUpdated). _elements and _summary (count, text, data) are supported. Unknown parameters are ignored with a warning, or rejected with "Prefer: handling=strict".',
  patient: {
    interaction: [
      {
        code: 'read',
      },
    ],
    operation: [
      {
        name: 'everything',
        definition:
          'http://hl7.org/fhir/OperationDefinition/Patient-everything',
      },
      {
        name: 'match',
        definition: 'http://hl7.org/fhir/OperationDefinition/Patient-match',
      },
    ],
  },
  other: [
    {
      type: 'Binary',
      interaction: [
        {
          code: 'read',
        },
      ],
    },
  ],
};
