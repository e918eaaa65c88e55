import type { Endpoint } from '../../../../../contract/endpoint.ts';
import { endpoints } from '../../../../../contract/endpoints.ts';
import type { OperationName } from '../../operation.ts';
import type { JsonObject } from '../document.ts';
import { EXAMPLES } from './all-examples.ts';
import type { OperationExample } from './example.ts';
import { curlCommand, httpFileRequest } from './sample-request.ts';

/** Adds to each operation of the document its example: parameters, body, answer, and the request as a curl command. */
export function addExamples(document: JsonObject, baseUrl: string): JsonObject {
  for (const path of Object.values(
    document.paths as unknown as Record<string, Record<string, OpenApiOperation>>,
  ))
    for (const operation of Object.values(path)) {
      const name = operation.operationId?.replace(/Alias$/, '') as OperationName;
      if (EXAMPLES[name] !== undefined) addExample(operation, endpoints[name], EXAMPLES[name], baseUrl);
    }
  return document;
}

function addExample(
  operation: OpenApiOperation,
  endpoint: Endpoint,
  example: OperationExample,
  baseUrl: string,
): void {
  const { params = {}, query = {}, body, answer } = example;
  for (const parameter of operation.parameters ?? []) {
    const value = { ...params, ...query }[parameter.name];
    if (value !== undefined) parameter.example = value;
  }
  const requestContent = operation.requestBody?.content['application/json'];
  if (requestContent !== undefined && body !== undefined) requestContent.example = body;
  const [success] = Object.keys(operation.responses).filter((status) => status.startsWith('2'));
  for (const content of Object.values(operation.responses[success ?? '']?.content ?? {}))
    if (answer !== undefined) content.example = answer;
  const curl = `\`\`\`sh\n${curlCommand(endpoint, example, baseUrl)}\n\`\`\``;
  operation.description = [operation.description, curl].filter(Boolean).join('\n\n');
}

interface OpenApiOperation {
  operationId?: string;
  description?: string;
  parameters?: Array<{ name: string; example?: unknown }>;
  requestBody?: { content: Record<string, { example?: unknown }> };
  responses: Record<string, { content?: Record<string, { example?: unknown }> }>;
}

/** The examples as an .http file, which editors (VS Code REST Client, JetBrains) open as requests to send. */
export function examplesAsHttpFile(baseUrl: string): string {
  const requests = Object.entries(EXAMPLES).map(([name, example]) =>
    httpFileRequest(name, endpoints[name as OperationName], example),
  );
  return `${[`@baseUrl = ${baseUrl}\n@apiKey = your-api-key`, ...requests].join('\n\n')}\n`;
}
