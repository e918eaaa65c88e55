import type { Endpoint } from '../../../../../contract/endpoint.ts';
import { endpoints } from '../../../../../contract/endpoints.ts';
import type { OperationName } from '../../operation.ts';
import type { JsonObject } from '../document.ts';
import type { OpenApiOperation as Operation } from '../open-api-document.ts';
import { EXAMPLES } from './all-examples.ts';
import type { OperationExample } from './example.ts';
import { curlCommand, httpFileRequest } from './sample-request.ts';

/** Adds to each operation of the document its example: parameters, body, answer, and the request as a curl command. */
export function addExamples(document: JsonObject, baseUrl: string): JsonObject {
  const { paths } = document as unknown as { paths: Record<string, Record<string, Operation>> };
  for (const operation of Object.values(paths).flatMap((path) => Object.values(path))) {
    const name = operation.operationId.replace(/Alias$/, '') as OperationName;
    if (EXAMPLES[name] !== undefined) addExample(operation, endpoints[name], EXAMPLES[name], baseUrl);
  }
  return document;
}

function addExample(
  operation: Operation,
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
  operation['x-codeSamples'] = [{ lang: 'Shell', source: curlCommand(endpoint, example, baseUrl) }];
}

/** The examples as an .http file, which editors (VS Code REST Client, JetBrains) open as requests to send. */
export function examplesAsHttpFile(baseUrl: string): string {
  const requests = Object.entries(EXAMPLES).map(([name, example]) =>
    httpFileRequest(name, endpoints[name as OperationName], example),
  );
  return `${[`@baseUrl = ${baseUrl}\n@apiKey = your-api-key`, ...requests].join('\n\n')}\n`;
}
