import { z } from 'zod';
import { bulkCreateExamples } from '../../../../contract/bulk-create.ts';
import { cohortExamples } from '../../../../contract/cohorts.ts';
import { consentExamples } from '../../../../contract/consents.ts';
import { consolidatedExamples } from '../../../../contract/consolidated-query.ts';
import { contributionExamples } from '../../../../contract/contribution.ts';
import { documentExamples } from '../../../../contract/documents.ts';
import { embedTokenExamples } from '../../../../contract/embed.ts';
import type { Endpoint } from '../../../../contract/endpoint.ts';
import { endpoints } from '../../../../contract/endpoints.ts';
import { webhookEventSchema } from '../../../../contract/events.ts';
import { facilityExamples } from '../../../../contract/facilities.ts';
import { healthLinkExamples } from '../../../../contract/health-links.ts';
import { identityExamples } from '../../../../contract/identity.ts';
import { messageExamples } from '../../../../contract/messages.ts';
import { networkDirectoryExamples } from '../../../../contract/network-directory.ts';
import { networkQueryExamples } from '../../../../contract/network-query.ts';
import { notificationExamples } from '../../../../contract/notifications.ts';
import { patientExamples } from '../../../../contract/patients.ts';
import { possibleDuplicateExamples } from '../../../../contract/possible-duplicates.ts';
import { queryRedriveExamples } from '../../../../contract/query-redrive.ts';
import { querySweepExamples } from '../../../../contract/query-sweep.ts';
import { sentEventExamples } from '../../../../contract/sent-events.ts';
import { settingsExamples } from '../../../../contract/settings.ts';
import {
  eventTypesOf,
  webhookExamples,
} from '../../../../contract/webhooks.ts';
import type { OperationName } from '../operation.ts';
import { targetOf } from '../paging.ts';
import type { OpenApiJson } from './document.ts';
import type { OpenApiOperation as Operation } from './open-api-document.ts';
import {
  DESCRIBED_EVENTS,
  WEBHOOK_CALLBACKS,
  WEBHOOK_PARAMETERS,
  WEBHOOK_RESPONSES,
} from './webhooks.ts';

/** What the reference shows of one example. */
interface OperationExample {
  params?: Readonly<Record<string, string>>;
  query?: Readonly<Record<string, string | number | boolean>>;
  body?: object;
  /** Body of the response; absent for a response without one. */
  answer?: object;
}

/**
 * A request and its response for every operation of the interface. A test
 * validates both against the contract's schemas.
 */
export const EXAMPLES: Readonly<Record<OperationName, OperationExample>> = {
  ...patientExamples,
  ...possibleDuplicateExamples,
  ...consentExamples,
  ...bulkCreateExamples,
  ...querySweepExamples,
  ...cohortExamples,
  ...networkQueryExamples,
  ...networkDirectoryExamples,
  ...queryRedriveExamples,
  ...identityExamples,
  ...messageExamples,
  ...notificationExamples,
  ...consolidatedExamples,
  ...documentExamples,
  ...facilityExamples,
  ...healthLinkExamples,
  ...embedTokenExamples,
  ...settingsExamples,
  ...webhookExamples,
  ...sentEventExamples,
  ...contributionExamples,
};

/**
 * Adds to each operation of the document its example: parameters, body, answer,
 * and the request as a curl command.
 */
export function addExamples(
  document: OpenApiJson,
  baseUrl: string,
): OpenApiJson {
  const { paths } = document as unknown as {
    paths: Record<string, Record<string, Operation>>;
  };
  for (const operation of Object.values(paths).flatMap((path) =>
    Object.values(path),
  )) {
    const name = operation.operationId.replace(/Alias$/, '') as OperationName;
    if (EXAMPLES[name] !== undefined)
      addExample(operation, endpoints[name], EXAMPLES[name], baseUrl);
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
  if (requestContent !== undefined && body !== undefined)
    requestContent.example = body;
  const [success] = Object.keys(operation.responses).filter((status) =>
    status.startsWith('2'),
  );
  for (const content of Object.values(
    operation.responses[success ?? '']?.content ?? {},
  ))
    if (answer !== undefined) content.example = answer;
  operation['x-codeSamples'] = [
    { lang: 'Shell', source: curlCommand(endpoint, example, baseUrl) },
  ];
}

/**
 * Adds the webhooks that the exchange sends, by event type: schema of the
 * contract; text, headers and example of `webhooks.ts`. They are callbacks of
 * "create webhook", too: generators of clients look there for schemas in use.
 */
export function addWebhooks(document: OpenApiJson): OpenApiJson {
  const { paths } = document as unknown as {
    paths: Record<string, Record<string, Operation>>;
  };
  const registration = paths[endpoints.createWebhook.path]?.post;
  if (registration !== undefined) registration.callbacks = WEBHOOK_CALLBACKS;
  const described = webhookEventSchema.options.flatMap((schema) => {
    const $ref = `#/components/schemas/${z.globalRegistry.get(schema)?.id}`;
    return eventTypesOf(schema).map((type): [string, OpenApiJson] => {
      const { example, ...text } =
        DESCRIBED_EVENTS[type as keyof typeof DESCRIBED_EVENTS];
      const requestBody = {
        required: true,
        content: { 'application/json': { schema: { $ref }, example } },
      };
      return [
        type,
        {
          post: {
            ...text,
            security: [],
            parameters: WEBHOOK_PARAMETERS,
            requestBody,
            responses: WEBHOOK_RESPONSES,
          },
        },
      ];
    });
  });
  return { ...document, webhooks: Object.fromEntries(described) };
}

/**
 * The examples as an .http file, which editors (VS Code REST Client, JetBrains)
 * open as requests to send.
 */
export function examplesAsHttpFile(baseUrl: string): string {
  const requests = Object.entries(EXAMPLES).map(([name, example]) =>
    httpFileRequest(name, endpoints[name as OperationName], example),
  );
  return `${[`@baseUrl = ${baseUrl}\n@apiKey = your-api-key`, ...requests].join('\n\n')}\n`;
}

/** Path and query string of an example. */
const sampleTarget = (
  endpoint: Endpoint,
  { params, query }: OperationExample,
): string => targetOf(endpoint, params, query);

/**
 * The same by the name of the operation; undefined for one without an example.
 */
export const sampleTargetOf = (name: string): string | undefined =>
  Object.hasOwn(EXAMPLES, name)
    ? sampleTarget(
        endpoints[name as OperationName],
        EXAMPLES[name as OperationName],
      )
    : undefined;

/**
 * The example as a shell command. It expects the API key in the variable
 * API_KEY.
 */
function curlCommand(
  endpoint: Endpoint,
  example: OperationExample,
  baseUrl: string,
): string {
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

const shellQuote = (text: string): string =>
  `'${text.replaceAll("'", `'\\''`)}'`;

/**
 * The example as a request of an .http file, which uses its variables `baseUrl`
 * and `apiKey`.
 */
function httpFileRequest(
  name: string,
  endpoint: Endpoint,
  example: OperationExample,
): string {
  const head = [
    `### ${endpoint.summary} (${name})`,
    `${endpoint.method} {{baseUrl}}${sampleTarget(endpoint, example)}`,
    'x-api-key: {{apiKey}}',
  ];
  if (example.body === undefined) return head.join('\n');
  return [
    ...head,
    'content-type: application/json',
    '',
    JSON.stringify(example.body, null, 2),
  ].join('\n');
}
