import { createServer, type IncomingMessage, request } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Fault {
  status: number;
  code?: string;
  headers?: Record<string, string>;
}

/**
 * Stands in front of a server: counts its requests, answers some of them
 * itself, and may give it another host name.
 */
export async function startProxy(targetPort: number) {
  const asked: string[] = [];
  let faultOf: (path: string) => Fault | undefined = () => undefined;
  let hostName: string | undefined;
  const server = createServer((incoming, outgoing) => {
    const path = incoming.url ?? '';
    asked.push(`${incoming.method} ${path}`);
    const fault = faultOf(path);
    if (fault !== undefined) {
      incoming.resume();
      const issue = [
        {
          severity: 'error',
          code: fault.code ?? 'processing',
          diagnostics: 'Patient Ada Lovelace',
        },
      ];
      outgoing.writeHead(fault.status, {
        'content-type': 'application/fhir+json',
        ...fault.headers,
      });
      outgoing.end(JSON.stringify({ resourceType: 'OperationOutcome', issue }));
      return;
    }
    const headers = {
      ...incoming.headers,
      ...(hostName === undefined ? {} : { host: hostName }),
    };
    const forwarded = request({
      port: targetPort,
      host: '127.0.0.1',
      method: incoming.method,
      path,
      headers,
    });
    forwarded.on('response', (response: IncomingMessage) => {
      outgoing.writeHead(response.statusCode ?? 502, response.headers);
      response.pipe(outgoing);
    });
    forwarded.on('error', () => outgoing.destroy());
    incoming.pipe(forwarded);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/fhir`,
    asked,
    /** Answers with this fault where the function returns one. */
    answer(fault: typeof faultOf) {
      faultOf = fault;
    },
    /** The server sees this name in the Host header and calls itself by it. */
    nameServer(name: string | undefined) {
      hostName = name;
    },
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
