import {
  createServer,
  type IncomingHttpHeaders,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { test as base, onTestFinished } from 'vitest';
import type { SourcePage } from '../../src/exchange/sources/connectors/connector.ts';
import {
  type ConnectorDeps,
  createFhirConnector,
} from '../../src/exchange/sources/connectors/fhir-connector.ts';
import type { SourceConfig } from '../../src/exchange/sources/connectors/source-config.ts';

import { ada, adaAtSource } from './ada.ts';

export { ada, adaAtSource } from './ada.ts';

export interface Asked {
  method: string;
  /** Path and query below the base address. */
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
}

export interface Reply {
  status?: number;
  headers?: Record<string, string>;
  json?: unknown;
  text?: string;
  /** Writes the answer by hand. */
  write?: (response: ServerResponse) => void;
}

export type Route = Reply | ((asked: Asked) => Reply);
export type Routes = Record<string, Route>;

/**
 * A real HTTP server that answers by `METHOD path`; what it does not know is
 * 404. It goes with the test that started it.
 */
export class FakeSource {
  readonly asked: Asked[] = [];
  routes: Routes;
  replyToOthers: Reply = { status: 404 };
  private readonly server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      const path = (request.url ?? '').replace(/^\/fhir\//, '');
      const asked = {
        method: request.method ?? '',
        path,
        headers: request.headers,
        body: Buffer.concat(parts).toString(),
      };
      this.asked.push(asked);
      send(response, this.replyTo(asked));
    });
  });
  private readonly always: Routes;

  constructor(always: Routes = {}) {
    this.always = always;

    this.routes = { ...always };
  }

  /** Answers these from now on, besides what it answers always. */
  serve(routes: Routes): void {
    this.routes = { ...this.always, ...routes };
  }

  /** The same, with an answer to the request for everything of Ada's. */
  serveEverything(everything: Route, more: Routes = {}): void {
    this.serve({ 'GET Patient/p1/$everything': everything, ...more });
  }

  async start(): Promise<this> {
    await new Promise<void>((resolve) =>
      this.server.listen(0, '127.0.0.1', resolve),
    );
    onTestFinished(() => this.stop());
    return this;
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  get baseUrl(): string {
    return `${this.origin}/fhir`;
  }

  askedFor(start: string): Asked[] {
    return this.asked.filter(({ method, path }) =>
      `${method} ${path}`.startsWith(start),
    );
  }

  /** A connector of its own asks for Ada. */
  begin(config?: Partial<SourceConfig>) {
    return connect(this, config).begin(ada, {}, never);
  }

  /** A connector of its own collects Ada's record. */
  collect(config?: Partial<SourceConfig>): Promise<SourcePage[]> {
    return collectAtOnce(connect(this, config));
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private replyTo(asked: Asked): Reply {
    const full = `${asked.method} ${asked.path}`;
    const route =
      this.routes[full] ??
      this.routes[full.split('?')[0] ?? ''] ??
      this.replyToOthers;
    return typeof route === 'function' ? route(asked) : route;
  }
}

function send(
  response: ServerResponse,
  { status = 200, headers = {}, json, text, write }: Reply,
): void {
  if (write !== undefined) {
    write(response);
    return;
  }
  response.writeHead(status, {
    'content-type': 'application/fhir+json',
    ...headers,
  });
  response.end(text ?? (json === undefined ? '' : JSON.stringify(json)));
}

export const somebodyElse = {
  resourceType: 'Patient',
  id: 'p9',
  name: [{ family: 'Babbage', given: ['Charles'] }],
  birthDate: '1971-01-01',
  gender: 'male',
  address: [{ postalCode: '02115' }],
};

export function bundle(
  resources: unknown[],
  next?: string,
  type = 'searchset',
) {
  return {
    resourceType: 'Bundle',
    type,
    ...(next === undefined ? {} : { link: [{ relation: 'next', url: next }] }),
    entry: resources.map((resource) => ({ resource })),
  };
}

export function condition(id: string, patient = 'Patient/p1') {
  return { resourceType: 'Condition', id, subject: { reference: patient } };
}

export const never = new AbortController().signal;

export function connect(
  source: FakeSource,
  config: Partial<SourceConfig> = {},
  deps: ConnectorDeps = {},
) {
  const base = {
    baseUrl: source.baseUrl,
    auth: { kind: 'none' },
    requestTimeoutSeconds: 60,
  } as const;
  return createFhirConnector({ source: 'hie', ...base, ...config }, deps);
}

export async function allOf(
  pages: AsyncIterable<SourcePage>,
): Promise<SourcePage[]> {
  const all: SourcePage[] = [];
  for await (const page of pages) all.push(page);
  return all;
}

/** begin, and the pages it brings; fails unless the source answered at once. */
export async function collectAtOnce(
  connector: ReturnType<typeof connect>,
): Promise<SourcePage[]> {
  const begin = await connector.begin(ada, {}, never);
  if (begin.kind !== 'ready')
    throw new Error(`the source answered ${begin.kind}`);
  return allOf(begin.pages);
}

export function idsOf(pages: SourcePage[]): string[] {
  return pages.flatMap(({ resources }) =>
    resources.map(({ resourceType, id }) => `${resourceType}/${id}`),
  );
}

/** What a source answers that knows Ada. */
export const knowsAda: Routes = {
  'POST Patient/$match': { json: bundle([adaAtSource]) },
};

/**
 * Tests with a `source` each that knows Ada; a file may give it other `routes`.
 */
export const sourceTest = base
  .extend('routes', knowsAda)
  .extend('source', ({ routes }) => new FakeSource(routes).start());
