import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Bundle, FhirResource, Parameters, Patient } from 'fhir/r4.js';
import { Webhook } from 'standardwebhooks';
import {
  SOURCE_TYPES,
  type SourceType,
} from '../../../src/contract/primitives.ts';
import type { StackOptions } from '../../../tools/embedded/stack-options.ts';
import { signedPost } from '../../../tools/simulator/signed-post.ts';
import { until } from '../kill/until.ts';

/**
 * How a source treats a person: it accepts requests as jobs, does not know the
 * person, or may not give out the record.
 */
export type Manner = 'accepts' | 'unknown' | 'refuses';

/** A request that a source accepted, and answers when the model says so. */
export interface HeldJob {
  readonly source: SourceType;
  readonly family: string;
  readonly callbackUrl: string;
  readonly acceptedAtMs: number;
  state: 'open' | 'answered' | 'failed' | 'refused' | 'cancelled';
}

export interface HeldSources {
  /** The variables of all three sources. */
  readonly environment: NonNullable<
    NonNullable<StackOptions['outside']>['sources']
  >;
  /**
   * How a source treats the person of this name from now on; default:
   * `unknown`.
   */
  treat(source: SourceType, family: string, manner: Manner): void;
  /** Has the source hold so many resources of its type about the person. */
  hold(source: SourceType, family: string, resources: number): void;
  openJobs(family: string): HeldJob[];
  /** Posts the signed callback of a job until it is taken. */
  callBack(job: HeldJob): Promise<void>;
  close(): Promise<void>;
}

interface Answer {
  status: number;
  body?: unknown;
  headers?: Record<string, string>;
}

/** What each source holds. */
export const HELD_TYPE = {
  hie: 'Observation',
  pharmacy: 'MedicationDispense',
  lab: 'Observation',
} as const;

const SECRET = `whsec_${Buffer.from('callbacks of the held sources').toString('base64')}`;
/** A lost callback is made up for by polling. */
const NOT_READY: Answer = { status: 202, headers: { 'retry-after': '2' } };
const CALLBACK_TIMEOUT_MS = 60_000;

/**
 * The three sources in one FHIR server. They accept requests as jobs and end
 * none of them by themselves.
 */
export async function startHeldSources(): Promise<HeldSources> {
  const manners = new Map<string, Manner>();
  const held = new Map<string, number>();
  const jobs: HeldJob[] = [];
  const signer = new Webhook(SECRET);
  const server = createServer(async (request, response) => {
    const { status, body, headers } = await answer(request);
    response.writeHead(status, {
      'content-type': 'application/fhir+json',
      ...headers,
    });
    response.end(body === undefined ? '' : JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  async function answer(request: IncomingMessage): Promise<Answer> {
    const [, name, , kind, id = '', operation] = new URL(
      request.url ?? '',
      origin,
    ).pathname.split('/');
    const text = await textOf(request);
    const source = SOURCE_TYPES.find((type) => type === name);
    if (source === undefined) return { status: 404 };
    if (kind === 'jobs') return jobStatus(jobs[Number(id)], request.method);
    if (kind === HELD_TYPE[source]) return read(source, id);
    if (kind !== 'Patient') return { status: 404 };
    if (operation === '$everything') return accept(source, id, request);
    if (id === '$match') return match(source, JSON.parse(text) as Parameters);
    return { status: 200, body: bundle([]) };
  }

  /** The very person that was asked for, under an id of the source. */
  function match(source: SourceType, { parameter }: Parameters): Answer {
    const patient = parameter?.find(({ name }) => name === 'resource')
      ?.resource as Patient | undefined;
    const family = patient?.name?.[0]?.family ?? '';
    const manner = manners.get(`${source}/${family}`) ?? 'unknown';
    if (manner === 'refuses')
      return { status: 403, body: outcome('suppressed') };
    return {
      status: 200,
      body: bundle(
        manner === 'unknown' ? [] : [{ ...patient, id: family } as Patient],
      ),
    };
  }

  function accept(
    source: SourceType,
    family: string,
    { headers }: IncomingMessage,
  ): Answer {
    const callbackUrl = headers['x-callback-url']?.toString() ?? '';
    const number =
      jobs.push({
        source,
        family,
        state: 'open',
        callbackUrl,
        acceptedAtMs: Date.now(),
      }) - 1;
    const location = `${origin}/${source}/fhir/jobs/${number}`;
    return {
      ...NOT_READY,
      headers: { ...NOT_READY.headers, 'content-location': location },
    };
  }

  function jobStatus(job: HeldJob | undefined, method = 'GET'): Answer {
    if (job === undefined || job.state === 'cancelled')
      return { status: 404, body: outcome('not-found') };
    if (method === 'DELETE') {
      job.state = 'cancelled';
      return { status: 202 };
    }
    if (job.state === 'failed')
      return { status: 500, body: outcome('exception') };
    if (job.state === 'refused')
      return { status: 403, body: outcome('suppressed') };
    return job.state === 'open'
      ? NOT_READY
      : { status: 200, body: bundle(heldAbout(job)) };
  }

  const heldAbout = ({
    source,
    family,
  }: Pick<HeldJob, 'source' | 'family'>): FhirResource[] =>
    Array.from({ length: held.get(`${source}/${family}`) ?? 0 }, (_, index) =>
      resource(source, family, index),
    );

  /** What is no longer held was deleted. */
  function read(source: SourceType, id: string): Answer {
    const [family = ''] = id.split('-');
    const found = heldAbout({ source, family }).find((each) => each.id === id);
    return found === undefined
      ? { status: 410, body: outcome('deleted') }
      : { status: 200, body: found };
  }

  return {
    environment: Object.fromEntries(
      SOURCE_TYPES.map((source) => {
        const prefix = source.toUpperCase();
        return [
          prefix,
          {
            [`${prefix}_BASE_URL`]: `${origin}/${source}/fhir`,
            [`${prefix}_BEARER_TOKEN`]: 'held',
            [`${prefix}_CALLBACK_SECRET`]: SECRET,
            [`${prefix}_SETTINGS`]: '{"callsPerSecond":1000}',
          },
        ];
      }),
    ),
    treat: (source, family, manner) =>
      void manners.set(`${source}/${family}`, manner),
    hold: (source, family, resources) =>
      void held.set(`${source}/${family}`, resources),
    openJobs: (family) =>
      jobs.filter((job) => job.family === family && job.state === 'open'),
    async callBack({ callbackUrl }) {
      const post = async () =>
        (await signedPost(callbackUrl, signer, `msg_${jobs.length}`, '{}')) ===
        200;
      if (
        !(await until(post, { timeoutMs: CALLBACK_TIMEOUT_MS, everyMs: 200 }))
      )
        throw new Error('A callback was not taken');
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function resource(
  source: SourceType,
  family: string,
  index: number,
): FhirResource {
  const common = {
    id: `${family}-${index}`,
    subject: { reference: `Patient/${family}` },
  };
  const concept = { text: `Number ${index} of the ${source}` };
  const date = `2024-01-0${index + 1}`;
  return HELD_TYPE[source] === 'Observation'
    ? {
        resourceType: 'Observation',
        ...common,
        status: 'final',
        code: concept,
        effectiveDateTime: date,
        valueString: 'normal',
      }
    : {
        resourceType: 'MedicationDispense',
        ...common,
        status: 'completed',
        medicationCodeableConcept: concept,
        whenHandedOver: date,
      };
}

const bundle = (resources: readonly FhirResource[]): Bundle => ({
  resourceType: 'Bundle',
  type: 'searchset',
  entry: resources.map((resource) => ({ resource })),
});

const outcome = (code: string) => ({
  resourceType: 'OperationOutcome',
  issue: [{ severity: 'error', code }],
});

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}
