import { randomBytes, randomUUID } from 'node:crypto';

export interface FloodTarget {
  baseUrl: string;
  /** Empty for strangers. */
  apiKey: string;
  accountId: string;
  facilityId: string;
  /** A patient with a record. */
  patientId?: string;
}

export interface FloodRequest {
  method: 'GET' | 'POST' | 'PUT';
  path: string;
  headers?: Record<string, string>;
  /** An object is sent as JSON. */
  body?: object | string;
}

/** @param number of the request, from 1 */
type FloodKind = (target: FloodTarget, number: number) => FloodRequest;

const JSON_TYPE = { 'content-type': 'application/json' };
const FORM_TYPE = { 'content-type': 'application/x-www-form-urlencoded' };
const secret = () => randomBytes(32).toString('base64url');
const part = (value: object) =>
  Buffer.from(JSON.stringify(value)).toString('base64url');

/** A client assertion with an invented client and signature. */
const inventedAssertion = (): string =>
  [
    part({ alg: 'ES384', typ: 'JWT', kid: 'a' }),
    part({
      iss: randomUUID(),
      sub: randomUUID(),
      jti: randomUUID(),
      exp: Math.floor(Date.now() / 1_000) + 60,
    }),
    'a'.repeat(86),
  ].join('.');

/** What anybody can send who has no key. */
export const STRANGERS_FLOODS = {
  'health links that do not exist': () => ({
    method: 'POST',
    path: `/shl/${secret()}`,
    headers: JSON_TYPE,
    body: { recipient: 'a stranger' },
  }),
  'embedded pages of unknown accounts': () => ({
    method: 'GET',
    path: `/embed/${randomUUID()}/patient/${randomUUID()}`,
  }),
  'embedded pages of a known account': ({ accountId }) => ({
    method: 'GET',
    path: `/embed/${accountId}/patient/${randomUUID()}`,
  }),
  'unknown API keys': () => ({
    method: 'GET',
    path: '/medical/v1/facility',
    headers: { 'x-api-key': `mdx_${secret()}` },
  }),
  'unknown clients that ask for a token': () => ({
    method: 'POST',
    path: '/fhir/R4/auth/token',
    headers: FORM_TYPE,
    body: new URLSearchParams({
      grant_type: 'client_credentials',
      scope: 'system/*.rs',
      client_assertion_type:
        'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      client_assertion: inventedAssertion(),
    }).toString(),
  }),
  'invented links': () => ({
    method: 'GET',
    path: `/links/document/${secret()}`,
  }),
  'invented callbacks': () => ({
    method: 'POST',
    path: `/sources/callback/${secret()}`,
    headers: {
      ...JSON_TYPE,
      'webhook-id': randomUUID(),
      'webhook-timestamp': String(Math.floor(Date.now() / 1_000)),
      'webhook-signature': `v1,${randomBytes(32).toString('base64')}`,
    },
    body: {},
  }),
  'paths that do not exist': () => ({ method: 'GET', path: `/${secret()}` }),
} satisfies Record<string, FloodKind>;

/** One request in this many creates a patient; the others read. */
const WRITE_EVERY = 10;
const ENTRIES = 1_000;

function newPerson(number: number): object {
  const letters = [...String(number)]
    .map((digit) => 'abcdefghij'[Number(digit)])
    .join('');
  return {
    firstName: 'Flo',
    lastName: `Od${letters}`,
    dob: '1980-04-05',
    genderAtBirth: 'F',
    address: [
      {
        addressLine1: '12 Beacon Street',
        city: 'Boston',
        state: 'MA',
        zip: '02108',
      },
    ],
  };
}

/** As many resources as one contribution may have, all of them new. */
export const contributionOf = (number: number) => ({
  resourceType: 'Bundle',
  type: 'collection',
  entry: Array.from({ length: ENTRIES }, (_, index) => ({
    resource: {
      resourceType: 'Condition',
      id: `c-${number}-${index}`,
      code: { text: `Problem ${number} of ${index}` },
    },
  })),
});

const toolCall = (name: string, args: object) => ({
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name, arguments: args },
});
const agent = (body: object): FloodRequest => ({
  method: 'POST',
  path: '/mcp',
  headers: { ...JSON_TYPE, accept: 'application/json, text/event-stream' },
  body,
});

/** What one account can send with its key. */
export const CALLERS_FLOODS = {
  'reads and creates': ({ facilityId }, number) =>
    number % WRITE_EVERY === 0
      ? {
          method: 'POST',
          path: `/medical/v1/patient?facilityId=${facilityId}`,
          headers: JSON_TYPE,
          body: newPerson(number),
        }
      : { method: 'GET', path: '/medical/v1/patient?count=20' },
  'summaries ($summary)': ({ patientId }) => ({
    method: 'GET',
    path: `/fhir/R4/Patient/${patientId}/$summary`,
  }),
  'whole records ($everything)': ({ patientId }) => ({
    method: 'GET',
    path: `/fhir/R4/Patient/${patientId}/$everything`,
  }),
  'agents that read summaries': ({ patientId }) =>
    agent(toolCall('patient_summary', { patient_id: patientId })),
  'contributions of 1,000 entries': ({ patientId }, number) => ({
    method: 'PUT',
    path: `/medical/v1/patient/${patientId}/consolidated`,
    headers: JSON_TYPE,
    body: contributionOf(number),
  }),
} satisfies Record<string, FloodKind>;

export const FLOODS: Readonly<Record<FloodName, FloodKind>> = {
  ...STRANGERS_FLOODS,
  ...CALLERS_FLOODS,
};

export type FloodName =
  | keyof typeof STRANGERS_FLOODS
  | keyof typeof CALLERS_FLOODS;
