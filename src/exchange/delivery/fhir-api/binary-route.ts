import { Readable } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import type { BlobStore } from '../../../shared/blobs/blob-store.ts';
import { NotFoundError } from '../../platform/errors.ts';
import { callerOf } from '../../platform/http/caller.ts';
import { findAttachment } from '../documents/document-store.ts';
import { notWithdrawn, openBlob, sendDocument, servedTypeOf } from '../documents/routes.ts';
import { FHIR_JSON } from './bundles.ts';
import { type FhirDeps, requireScope } from './requests.ts';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
/** FHIR R4, Binary: only a client that asks for FHIR's own type gets the resource, with the content in base64. */
const ASKS_FOR_RESOURCE = /^\s*application\/fhir\+json\b/i;

/** `GET /fhir/R4/Binary/<id>`: the stored document that `DocumentReference.content.attachment.url` names. */
export function addBinaryRoute(app: FastifyInstance, deps: FhirDeps & { blobs: BlobStore }): void {
  app.get<{ Params: { id: string } }>(
    '/fhir/R4/Binary/:id',
    {
      schema: { hide: true },
      config: { operation: 'fhirReadBinary', scope: 'read' },
      exposeHeadRoute: false,
    },
    async (request, reply) => {
      requireScope(request, 'DocumentReference');
      const { id } = request.params;
      if (!UUID.test(id)) throw new NotFoundError('Binary');
      const { id: accountId } = callerOf(request).account;
      const document = notWithdrawn(
        await deps.store.asAccount(accountId, (tx) => findAttachment(tx, id.toLowerCase())),
      );
      // Documents of messages that were assigned to nobody are not part of a record.
      if (document.patientId === null) throw new NotFoundError('Binary');
      await deps.audit.write(request, [document.patientId], document.id);
      reply.header('cache-control', 'no-store').header('vary', 'accept');
      const contentType = servedTypeOf(document);
      if (!ASKS_FOR_RESOURCE.test(request.headers.accept ?? ''))
        return sendDocument(deps.blobs, document, reply);
      const content = await openBlob(deps.blobs, document.blobRef);
      const head = JSON.stringify({ resourceType: 'Binary', id: document.id, contentType }).slice(0, -1);
      return reply.type(FHIR_JSON).send(Readable.from(binaryJson(head, content)));
    },
  );
}

/** The JSON text of a Binary, in pieces: base64 is written in multiples of three bytes. */
async function* binaryJson(head: string, content: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  yield `${head},"data":"`;
  let rest = Buffer.alloc(0);
  for await (const chunk of content) {
    const bytes = Buffer.concat([rest, chunk]);
    const whole = bytes.length - (bytes.length % 3);
    yield bytes.toString('base64', 0, whole);
    rest = bytes.subarray(whole);
  }
  yield `${rest.toString('base64')}"}`;
}
