import swagger from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import type { FastifyInstance } from 'fastify';
import { createJsonSchemaTransform, createJsonSchemaTransformObject } from 'fastify-type-provider-zod';
import { tidyDocument } from './document.ts';
import { addExamples } from './examples.ts';

const DESCRIPTION = `
Patients, cohorts and network queries over the national health information networks, pharmacies and laboratories.

- Every call carries your API key in the header \`x-api-key\`.
- Errors are \`application/problem+json\` (RFC 9457) with \`name\`, the constant of the status, and, for a request
  that breaks a rule, \`errors\` with the path and message of each mistake.
- Every POST accepts \`Idempotency-Key\`: sending a request again under its key gives the first answer.
- Sources answer later: watch a query with get-status, or set a webhook destination in the settings.
- The headers \`RateLimit\` and \`RateLimit-Policy\` tell where your account stands in its minute.
`.trim();

const TAGS = [
  { name: 'patient', description: 'People, matched by names, date of birth, gender and a common zip' },
  { name: 'notification', description: 'What sources tell of patients unasked, as it was told on' },
  { name: 'bulk create', description: 'Many patients from one CSV, created or updated row by row' },
  { name: 'network query', description: 'Collecting a patient’s records from the sources' },
  { name: 'consolidated data', description: 'A patient’s merged record: as FHIR, html or pdf' },
  { name: 'cohort', description: 'Groups of patients' },
  { name: 'facility', description: 'Where patients receive care' },
  { name: 'embedding', description: 'Tokens for the embedded patient page' },
  { name: 'settings', description: 'Where webhooks go' },
];

const collectSchemas = createJsonSchemaTransformObject({});
const toPlainJson = <T>(document: unknown): T => JSON.parse(JSON.stringify(document)) as T;

/** The page's own scripts, styles and calls; its style attributes are inline. */
const PAGE_POLICY =
  "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; object-src 'none'; base-uri 'self'; frame-ancestors 'none'";

/** Serves `/openapi.json`, made from the routes that exist, and a page to read it at `/reference`. */
export async function addOpenApi(app: FastifyInstance, publicBaseUrl: string): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: { title: 'Medical data exchange', version: '1', description: DESCRIPTION },
      servers: [{ url: publicBaseUrl }],
      tags: TAGS,
      components: {
        securitySchemes: { apiKey: { type: 'apiKey', in: 'header', name: 'x-api-key' } },
      },
    },
    transform: createJsonSchemaTransform({}),
    transformObject: (document) => addExamples(tidyDocument(toPlainJson(collectSchemas(document)))),
  });
  await app.register(swaggerUi, {
    routePrefix: '/reference',
    staticCSP: PAGE_POLICY,
    uiConfig: { docExpansion: 'list', displayOperationId: true, tryItOutEnabled: true },
    theme: {
      title: 'Medical data exchange: API reference',
      // The bar would offer to load other documents.
      css: [{ filename: 'page.css', content: '.swagger-ui .topbar { display: none }' }],
    },
  });
  app.get('/openapi.json', { schema: { hide: true }, config: { operation: 'openapi' } }, () => app.swagger());
}
