import {
  request as forward,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import { createServer, type ServerOptions } from 'node:https';
import type { AddressInfo } from 'node:net';

export interface FhirServerOptions {
  /** Whether a bearer token opens the data. */
  isActive: (token: string) => Promise<boolean>;
  /** What `.well-known/smart-configuration` says; without it, 404. */
  smartConfiguration?: Record<string, unknown>;
  /** What `.well-known/udap` says; without it, 404. */
  udap?: () => unknown;
  /** Resources by path, such as `Patient/p1/$everything`. */
  resources?: Record<string, unknown>;
  /**
   * A server on this machine that answers instead, over http, what it is asked
   * with a valid token.
   */
  upstreamPort?: number;
  /**
   * For a server that asks for a client certificate: the authority of the
   * certificates it accepts.
   */
  clientCa?: string;
}

/**
 * A small FHIR server over https that opens its data only to tokens of its
 * authorization server.
 */
export async function startFhirServer(
  { cert, key }: { cert: string; key: string },
  {
    isActive,
    smartConfiguration,
    udap,
    resources = {},
    clientCa,
    upstreamPort,
  }: FhirServerOptions,
) {
  const mutual: ServerOptions =
    clientCa === undefined ? {} : { ca: clientCa, requestCert: true };
  const tokens: string[] = [];
  const server = createServer({ cert, key, ...mutual }, (request, response) => {
    if (upstreamPort === undefined) request.resume();
    const path =
      (request.url ?? '').replace(/^\/fhir\//, '').split('?')[0] ?? '';
    const reply = (status: number, json?: unknown) => {
      response.writeHead(status, { 'content-type': 'application/fhir+json' });
      response.end(json === undefined ? '' : JSON.stringify(json));
    };
    if (
      path === '.well-known/smart-configuration' &&
      smartConfiguration !== undefined
    )
      return reply(200, smartConfiguration);
    if (path === '.well-known/udap' && udap !== undefined)
      return reply(200, udap());
    if (path.startsWith('.well-known/')) return reply(404);
    if (path === 'metadata' && upstreamPort !== undefined)
      return pass(upstreamPort, request, response);
    if (path === 'metadata')
      return reply(200, {
        resourceType: 'CapabilityStatement',
        rest: [{ mode: 'server' }],
      });
    const token = request.headers.authorization?.replace('Bearer ', '') ?? '';
    void isActive(token).then((active) => {
      if (!active) return reply(401);
      tokens.push(token);
      if (upstreamPort !== undefined)
        return pass(upstreamPort, request, response);
      return Object.hasOwn(resources, path)
        ? reply(200, resources[path])
        : reply(404);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    baseUrl: `https://localhost:${(server.address() as AddressInfo).port}/fhir`,
    /** The tokens of the requests that were served. */
    tokens,
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/**
 * With the Host header as it came, so that the server calls itself by the name
 * under which it was asked.
 */
function pass(
  port: number,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): void {
  const { method, url: path, headers } = incoming;
  const forwarded = forward({ host: '127.0.0.1', port, method, path, headers });
  forwarded.on('response', (response) => {
    outgoing.writeHead(response.statusCode ?? 502, response.headers);
    response.pipe(outgoing);
  });
  forwarded.on('error', () => outgoing.destroy());
  incoming.pipe(forwarded);
}

export const searchset = (...resources: unknown[]) => ({
  resourceType: 'Bundle',
  type: 'searchset',
  entry: resources.map((resource) => ({ resource })),
});
