import swagger from '@fastify/swagger';
import type { FastifyInstance } from 'fastify';
import {
  createJsonSchemaTransform,
  createJsonSchemaTransformObject,
} from 'fastify-type-provider-zod';
import { API_TAGS, apiDescription } from './about.ts';
import { tidyDocument } from './document.ts';
import { addExamples, addWebhooks, examplesAsHttpFile } from './examples.ts';
import { examplesAsCollection, operationsAsLlmsText } from './for-tools.ts';
import { addFrontPages } from './front-pages.ts';
import type { OpenApiDocument } from './open-api-document.ts';
import { addReferencePage } from './reference/page.ts';

/**
 * The package's own override loses lists from unions: it drops what has no
 * members yet.
 */
const zodToJsonConfig = { override: () => undefined };
const collectSchemas = createJsonSchemaTransformObject({ zodToJsonConfig });
const toPlainJson = <T>(document: unknown): T =>
  JSON.parse(JSON.stringify(document)) as T;

/**
 * Serves `/openapi.json`, generated from the registered routes, the API
 * reference page at `/reference`, the examples as `/requests.http` and
 * `/collection.json`, the operations as `/llms.txt`, and the front pages.
 */
export async function addOpenApi(
  app: FastifyInstance,
  publicBaseUrl: string,
): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Medical data exchange',
        version: '1',
        license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
        description: apiDescription(publicBaseUrl),
      },
      servers: [{ url: publicBaseUrl }],
      tags: API_TAGS,
      components: {
        securitySchemes: {
          apiKey: { type: 'apiKey', in: 'header', name: 'x-api-key' },
        },
      },
    },
    transform: createJsonSchemaTransform({ zodToJsonConfig }),
    transformObject: (document) =>
      addExamples(
        tidyDocument(addWebhooks(toPlainJson(collectSchemas(document)))),
        publicBaseUrl,
      ),
  });
  addReferencePage(
    app,
    publicBaseUrl,
    () => app.swagger() as unknown as OpenApiDocument,
  );
  app.get(
    '/requests.http',
    { schema: { hide: true }, config: { operation: 'requests' } },
    (_request, reply) =>
      reply
        .type('text/plain; charset=utf-8')
        .header('content-disposition', 'attachment; filename="requests.http"')
        .send(examplesAsHttpFile(publicBaseUrl)),
  );
  app.get(
    '/collection.json',
    { schema: { hide: true }, config: { operation: 'collection' } },
    () => examplesAsCollection(publicBaseUrl),
  );
  app.get(
    '/llms.txt',
    { schema: { hide: true }, config: { operation: 'llms' } },
    (_request, reply) =>
      reply
        .type('text/plain; charset=utf-8')
        .send(operationsAsLlmsText(publicBaseUrl)),
  );
  addFrontPages(app, publicBaseUrl);
  app.get(
    '/openapi.json',
    { schema: { hide: true }, config: { operation: 'openapi' } },
    () => app.swagger(),
  );
}
