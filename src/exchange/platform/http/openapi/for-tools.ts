import type { Endpoint } from '../../../../contract/endpoint.ts';
import { endpoints } from '../../../../contract/endpoints.ts';
import type { OperationName } from '../operation.ts';
import { API_TAGS } from './about.ts';
import { EXAMPLES, sampleTargetOf } from './examples.ts';

/** The operations of each group that has some, in the order of the reference. */
const groups = (): {
  name: string;
  description: string;
  operations: [OperationName, Endpoint][];
}[] =>
  API_TAGS.map(({ name, description }) => ({
    name,
    description,
    operations: (
      Object.entries(endpoints) as [OperationName, Endpoint][]
    ).filter(([, { tag }]) => tag === name),
  })).filter(({ operations }) => operations.length > 0);

/**
 * The examples as a collection that Postman, Bruno and Insomnia import (format
 * 2.1 of Postman), with the variables `baseUrl` and `apiKey`.
 */
export const examplesAsCollection = (baseUrl: string) => ({
  info: {
    name: 'Medical data exchange',
    schema:
      'https://schema.getpostman.com/json/collection/v2.1.0/collection.json',
  },
  variable: [
    { key: 'baseUrl', value: baseUrl },
    { key: 'apiKey', value: '' },
  ],
  auth: {
    type: 'apikey',
    apikey: [
      { key: 'key', value: 'x-api-key' },
      { key: 'value', value: '{{apiKey}}' },
      { key: 'in', value: 'header' },
    ],
  },
  item: groups().map(({ name, description, operations }) => ({
    name,
    description,
    item: operations.map(
      ([operation, { summary, method, description: more }]) => ({
        name: summary,
        request: {
          method,
          url: `{{baseUrl}}${sampleTargetOf(operation)}`,
          ...(more !== undefined && { description: more }),
          ...bodyOf(EXAMPLES[operation].body),
        },
      }),
    ),
  })),
});

const bodyOf = (body: object | undefined) =>
  body === undefined
    ? {}
    : {
        header: [{ key: 'content-type', value: 'application/json' }],
        body: {
          mode: 'raw',
          raw: JSON.stringify(body, null, 2),
          options: { raw: { language: 'json' } },
        },
      };

/** The operations for a language model, in the form of llmstxt.org. */
export const operationsAsLlmsText = (baseUrl: string): string =>
  [
    '# Medical data exchange',
    '',
    '> Patients, and queries of health information networks, pharmacies and laboratories for their records. Base address: ' +
      `${baseUrl}/medical/v1. Every request has the header x-api-key.`,
    '',
    `- [OpenAPI document](${baseUrl}/openapi.json): schemas, examples and error codes of every operation`,
    `- [Kinds of errors](${baseUrl}/errors): by \`code\`, with what to do`,
    ...groups().flatMap(({ name, description, operations }) => [
      '',
      `## ${name.charAt(0).toUpperCase()}${name.slice(1)}`,
      '',
      `${description}.`,
      '',
      ...operations.map(
        ([operation, { method, path, summary, description: more }]) =>
          `- [${summary}](${baseUrl}/reference#${operation}): ${method} ${path}${more === undefined ? '' : `. ${more.split('\n', 1)[0]}`}`,
      ),
    ]),
    '',
  ].join('\n');
