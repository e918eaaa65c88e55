import type { Endpoint } from '../../../../contract/endpoint.ts';

/** What the OpenAPI document says of the whole interface (Markdown). */
export const apiDescription = (baseUrl: string): string =>
  [
    'Manage patients and cohorts, and query national health information networks, pharmacies and laboratories for their records.',
    '',
    '- Send your API key in the header `x-api-key` with every request.',
    `- Errors are \`application/problem+json\` (RFC 9457). \`code\` is the [kind of error](${baseUrl}/errors), and \`type\` the address of its`,
    '  page; `name` is a constant for the status. An invalid request also has `errors`, with the path and message of each field.',
    '- Every POST accepts an `Idempotency-Key`: a repeated request with the same key returns the first response.',
    '- Sources respond asynchronously: poll the status of the query, or set a webhook destination in the settings.',
    '- Every operation has an example as a curl command, which takes the API key from the variable `API_KEY`;',
    `  [requests.http](${baseUrl}/requests.http) contains all of them for`,
    `  your editor, [collection.json](${baseUrl}/collection.json) for Postman, Bruno or Insomnia.`,
    `  [openapi.json](${baseUrl}/openapi.json) is this reference for tools, [llms.txt](${baseUrl}/llms.txt) for language models.`,
    '- The headers `RateLimit` and `RateLimit-Policy` report how many requests your account has left in the current minute.',
  ].join('\n');

interface ApiTag {
  name: Endpoint['tag'];
  description: string;
}

/** The groups of operations, in the order of the API reference. */
export const API_TAGS: ApiTag[] = [
  {
    name: 'patient',
    description:
      'Patients, matched by names, date of birth, gender and a common zip code',
  },
  {
    name: 'notification',
    description:
      'Admissions, discharges, fills and results reported by senders',
  },
  {
    name: 'bulk create',
    description: 'Creates or updates many patients from one CSV file',
  },
  {
    name: 'network query',
    description: 'Collects a patient’s records from the sources',
  },
  {
    name: 'consolidated data',
    description: 'A patient’s merged record as FHIR, html or pdf',
  },
  {
    name: 'document',
    description:
      'Documents of the sources, as they are or converted to html or pdf',
  },
  { name: 'cohort', description: 'Groups of patients' },
  { name: 'facility', description: 'Facilities where patients receive care' },
  {
    name: 'identity',
    description: 'Identity verification for individual access (IAS)',
  },
  {
    name: 'message',
    description: 'Direct and XDR messages with other providers',
  },
  { name: 'embedding', description: 'Tokens for the embedded patient page' },
  { name: 'settings', description: 'Webhook destinations and their keys' },
  {
    name: 'event',
    description:
      'What was sent to webhook destinations, what they answered, and sending it again',
  },
];
