import { type Dispatcher, request } from 'undici';
import {
  loadSamplePatients,
  type SamplePatient,
} from '../../src/local-stack/sample-patients.ts';
import type { SourceName } from '../../src/local-stack/simulator/protocol.ts';
import {
  createSimulatorAdmin,
  type SimulatorAdmin,
} from '../../tools/simulator/admin-client.ts';
import {
  createSimulator,
  type SimulatorOptions,
} from '../../tools/simulator/server.ts';

/** What the simulator of a test asks of its callers, and signs with. */
export const SIMULATOR_CREDENTIALS = {
  hie: { clientId: 'exchange', clientSecret: 'a secret with : and ü' },
  pharmacyToken: 'pharmacy-test-token',
  labToken: 'lab-test-token',
  callbackSecret: `whsec_${Buffer.from('callback secret of the tests').toString('base64')}`,
};

export interface TestAnswer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests read answers of many shapes
  json: any;
}

export interface Ask {
  method?: Dispatcher.HttpMethod;
  headers?: Record<string, string>;
  json?: unknown;
  form?: Record<string, string>;
  /** Leaves the access token out, or sends another one. */
  token?: string | null;
}

export interface TestSimulator {
  url: string;
  admin: SimulatorAdmin;
  close(): Promise<void>;
  /**
   * A request to a source with its valid token; `path` below the base address,
   * or a full address.
   */
  ask(source: SourceName, path: string, ask?: Ask): Promise<TestAnswer>;
  /** The source's Patient id of a sample. */
  patientId(source: SourceName, sample: SamplePatient): Promise<string>;
  /** Every entry of an answer of several pages. */
  // biome-ignore lint/suspicious/noExplicitAny: tests read answers of many shapes
  allPages(source: SourceName, path: string): Promise<any[]>;
}

export async function startTestSimulator(
  options: Partial<SimulatorOptions> = {},
): Promise<TestSimulator> {
  const { hie, pharmacyToken, labToken, callbackSecret } =
    SIMULATOR_CREDENTIALS;
  const simulator = await createSimulator({
    access: {
      hie: { kind: 'client-credentials', ...hie },
      pharmacy: { kind: 'bearer', token: pharmacyToken },
      lab: { kind: 'bearer', token: labToken },
    },
    callbackSecrets: {
      hie: callbackSecret,
      pharmacy: callbackSecret,
      lab: callbackSecret,
    },
    ...options,
  });
  const tokens: Partial<Record<SourceName, string>> = {
    pharmacy: pharmacyToken,
    lab: labToken,
  };

  const ask: TestSimulator['ask'] = async (
    source,
    path,
    { token, ...rest } = {},
  ) => {
    if (token === undefined) tokens[source] ??= await fetchToken(simulator.url);
    const shown = token === undefined ? tokens[source] : token;
    const url = /^http/.test(path)
      ? path
      : `${simulator.url}/${source}/fhir${path}`;
    return askUrl(url, {
      ...rest,
      headers: {
        ...(shown ? { authorization: `Bearer ${shown}` } : {}),
        ...rest.headers,
      },
    });
  };

  return {
    url: simulator.url,
    close: () => simulator.close(),
    admin: createSimulatorAdmin(simulator.url, options.adminToken),
    ask,
    patientId: async (source, sample) => {
      const form = {
        family: sample.createBody.lastName,
        birthdate: sample.createBody.dob,
      };
      const answer = await ask(source, '/Patient/_search', {
        method: 'POST',
        form,
      });
      return answer.json.entry[0].resource.id;
    },
    allPages: async (source, path) => {
      const entries = [];
      for (let next: string | undefined = path; next; ) {
        const { json } = await ask(source, next);
        entries.push(...json.entry);
        next = json.link.find(
          (link: { relation: string }) => link.relation === 'next',
        )?.url;
      }
      return entries;
    },
  };
}

/** A sample by its key; any of them without one. */
export function sample(key = 'keith-kiehn'): SamplePatient {
  const found = loadSamplePatients().find((candidate) => candidate.key === key);
  if (!found) throw new Error(`no sample ${key}`);
  return found;
}

/** The question of `Patient/$match` for a sample. */
export function matchParameters(
  { createBody }: SamplePatient,
  onlyCertainMatches = true,
) {
  const patient = {
    resourceType: 'Patient',
    name: [
      { family: createBody.lastName, given: createBody.firstName.split(' ') },
    ],
    birthDate: createBody.dob,
    gender: createBody.genderAtBirth === 'M' ? 'male' : 'female',
    address: createBody.address.map(({ zip }) => ({ postalCode: zip })),
  };
  return {
    resourceType: 'Parameters',
    parameter: [
      { name: 'resource', resource: patient },
      { name: 'onlyCertainMatches', valueBoolean: onlyCertainMatches },
    ],
  };
}

export async function askUrl(
  url: string,
  { method, headers, json, form }: Ask = {},
): Promise<TestAnswer> {
  const contentType = json
    ? 'application/fhir+json'
    : form && 'application/x-www-form-urlencoded';
  const answer = await request(url, {
    method: method ?? 'GET',
    headers: {
      ...(contentType ? { 'content-type': contentType } : {}),
      ...headers,
    },
    body: json
      ? JSON.stringify(json)
      : form
        ? String(new URLSearchParams(form))
        : null,
  });
  const text = await answer.body.text();
  return {
    status: answer.statusCode,
    headers: answer.headers,
    text,
    json: parsed(text),
  };
}

async function fetchToken(url: string): Promise<string> {
  const { clientId, clientSecret } = SIMULATOR_CREDENTIALS.hie;
  const form = {
    grant_type: 'client_credentials',
    client_id: clientId,
    client_secret: clientSecret,
  };
  const answer = await askUrl(`${url}/hie/oauth/token`, {
    method: 'POST',
    form,
  });
  return answer.json.access_token;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
