import {
  createServer,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { brotliCompressSync } from 'node:zlib';
import type { Parameters, Patient } from 'fhir/r4.js';
import type { StackOptions } from '../../tools/embedded/stack-options.ts';

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

/**
 * A source that knows everybody, and answers a request for their data as an
 * attack wants.
 */
export interface HostileSource {
  readonly environment: NonNullable<
    NonNullable<StackOptions['outside']>['sources']
  >;
  /** Another origin that the source may lead to. */
  readonly elsewhere: string;
  /** What was asked of the other origin. */
  readonly askedElsewhere: {
    path: string;
    authorization: string | undefined;
  }[];
  /** How the next requests for data (`$everything`) are answered. */
  answerWith(handler: Handler): void;
  close(): Promise<void>;
}

export const FHIR = { 'content-type': 'application/fhir+json' };

export const bundle = (resources: readonly object[], next?: string) => ({
  resourceType: 'Bundle',
  type: 'searchset',
  ...(next === undefined ? {} : { link: [{ relation: 'next', url: next }] }),
  entry: resources.map((resource) => ({ resource })),
});

/** A result about the patient that the source knows. */
export const observation = (family: string, id = 'o1') => ({
  resourceType: 'Observation',
  id,
  status: 'final',
  subject: { reference: `Patient/${family}` },
  code: { text: 'Glucose' },
  effectiveDateTime: '2024-01-01',
});

export const familyIn = ({ url = '' }: IncomingMessage): string =>
  /Patient\/([^/]+)\//.exec(url)?.[1] ?? '';

export async function startHostileSource(): Promise<HostileSource> {
  const askedElsewhere: HostileSource['askedElsewhere'] = [];
  let handler: Handler = (_request, response) => response.writeHead(404).end();
  const other = createServer((request, response) => {
    askedElsewhere.push({
      path: request.url ?? '',
      authorization: request.headers.authorization,
    });
    response.writeHead(200, FHIR).end(JSON.stringify(bundle([])));
  });
  const server = createServer(async (request, response) => {
    const text = await textOf(request);
    if (request.url?.endsWith('/metadata'))
      // We send no accept-encoding, but a proxy at a source may do this.
      response
        .writeHead(200, { ...FHIR, 'content-encoding': 'br' })
        .end(brotliCompressSync(STATEMENT));
    else if (request.url?.includes('$match'))
      response.writeHead(200, FHIR).end(match(text));
    else handler(request, response);
  });
  const origin = await listen(server);
  const elsewhere = await listen(other);
  return {
    environment: {
      HIE: {
        HIE_BASE_URL: `${origin}/fhir`,
        HIE_BEARER_TOKEN: 'secret-of-the-source',
        HIE_SETTINGS: JSON.stringify({
          allowedOrigins: [elsewhere],
          callsPerSecond: 1_000,
        }),
      },
    },
    elsewhere,
    askedElsewhere,
    answerWith(next) {
      handler = next;
    },
    async close() {
      for (const each of [server, other]) {
        each.closeAllConnections();
        await new Promise((resolve) => each.close(resolve));
      }
    },
  };
}

const STATEMENT = JSON.stringify({
  resourceType: 'CapabilityStatement',
  status: 'active',
  kind: 'instance',
  fhirVersion: '4.0.1',
  format: ['json'],
});

/** The very person that was asked for, under an id of the source. */
function match(text: string): string {
  const { parameter } = JSON.parse(text) as Parameters;
  const patient = parameter?.find(({ name }) => name === 'resource')
    ?.resource as Patient | undefined;
  return JSON.stringify(
    bundle([{ ...patient, id: patient?.name?.[0]?.family ?? '' }]),
  );
}

async function listen(
  server: ReturnType<typeof createServer>,
): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}
