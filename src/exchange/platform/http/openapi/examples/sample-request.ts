import type { Endpoint } from '../../../../../contract/endpoint.ts';
import type { OperationExample } from './example.ts';

/** Path and query string of an example: `/medical/v1/patient/0192…/cohort?count=100`. */
export function sampleTarget({ path }: Endpoint, { params = {}, query = {} }: OperationExample): string {
  const filled = path.replaceAll(/:(\w+)/g, (_, name: string) => encodeURIComponent(params[name] ?? name));
  const search = new URLSearchParams(
    Object.entries(query).map(([name, value]): [string, string] => [name, String(value)]),
  );
  return search.size === 0 ? filled : `${filled}?${search}`;
}

/** The example as a shell command. It expects the API key in the variable API_KEY. */
export function curlCommand(endpoint: Endpoint, example: OperationExample, baseUrl: string): string {
  const lines = [
    `curl -X ${endpoint.method} ${shellQuote(baseUrl + sampleTarget(endpoint, example))}`,
    '-H "x-api-key: $API_KEY"',
  ];
  if (example.body !== undefined)
    lines.push(
      `-H 'content-type: application/json'`,
      `-d ${shellQuote(JSON.stringify(example.body, null, 2))}`,
    );
  return lines.join(' \\\n  ');
}

const shellQuote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/** The example as a request of an .http file, which uses its variables `baseUrl` and `apiKey`. */
export function httpFileRequest(name: string, endpoint: Endpoint, example: OperationExample): string {
  const head = [
    `### ${endpoint.summary} (${name})`,
    `${endpoint.method} {{baseUrl}}${sampleTarget(endpoint, example)}`,
    'x-api-key: {{apiKey}}',
  ];
  if (example.body === undefined) return head.join('\n');
  return [...head, 'content-type: application/json', '', JSON.stringify(example.body, null, 2)].join('\n');
}
