import type { FastifyInstance, FastifyReply } from 'fastify';
import { idSchema } from '../../contract/primitives.ts';
import type { BlobStore } from '../../shared/blobs/blob-store.ts';
import { BlobNotFoundError } from '../../shared/blobs/blob-store.ts';
import { findPatient } from '../patients/patient-store.ts';
import { ExchangeError, NotFoundError } from '../platform/errors.ts';
import { contentDisposition } from '../platform/http/content-disposition.ts';
import type { GatewayPlatform } from '../platform/http/deps.ts';
import { ok, orNotFound } from '../platform/http/operation.ts';
import type { Operations } from '../platform/http/operations.ts';
import { addSignedLinkRoute, auditLink } from '../platform/links/signed-link-route.ts';
import { selectDocuments } from './describe-document.ts';
import { documentUrl } from './document-link.ts';
import {
  type FoundDocument,
  findAttachment,
  findDocument,
  findDocumentByName,
  findRenditionById,
  listDocuments,
} from './document-store.ts';
import { announceDocumentUrls } from './document-urls.ts';
import type { DocumentRenditions } from './renditions.ts';
import { RENDITION_TYPES } from './renditions.ts';
import { documentDto, documentReference } from './serializers.ts';

/** E14 and the operations around it. */
export function addDocumentRoutes(
  operations: Operations,
  deps: Pick<GatewayPlatform, 'store' | 'links'> & {
    documentRenditions: Pick<DocumentRenditions, 'render'>;
  },
): void {
  operations.read('listDocuments', async (tx, { query }) => {
    const { id: patientId } = orNotFound('Patient', await findPatient(tx, query.patientId));
    const documents = selectDocuments(await listDocuments(tx, patientId), query);
    return ok({
      documents: documents.map((each) =>
        query.output === 'dto' ? documentDto(each) : documentReference(each),
      ),
    });
  });

  // Not in one transaction: a conversion takes its time.
  operations.act(
    'getDocumentUrl',
    async ({ query, caller }) => {
      const { id: accountId } = caller.account;
      const document = notTakenBack(
        await deps.store.asAccount(
          accountId,
          async (tx) =>
            (await findDocumentByName(tx, query.fileName)) ??
            (idSchema.safeParse(query.fileName).success ? findAttachment(tx, query.fileName) : undefined),
        ),
      );
      const targetId =
        query.conversionType === undefined
          ? document.id
          : await deps.documentRenditions.render(accountId, document, query.conversionType);
      return ok(
        { url: documentUrl(deps.links, accountId, targetId) },
        {
          patientId: document.patientId ?? undefined,
          targetId: document.id,
          headers: { 'cache-control': 'no-store' },
        },
      );
    },
    '/medical/v1/document/downloadUrl',
  );

  operations.write('startBulkDocumentUrls', async (tx, { query }) => {
    const patient = orNotFound('Patient', await findPatient(tx, query.patientId));
    const { requestId } = await announceDocumentUrls(tx, patient);
    return ok(
      { status: 'processing' as const, requestId },
      {
        patientId: patient.id,
        targetId: requestId,
      },
    );
  });
}

/** Throws 404 for none, and 410 for one that its source took back: it may be about another person, or plainly wrong. */
function notTakenBack(document: FoundDocument | undefined): FoundDocument {
  const found = orNotFound('Document', document);
  if (found.isTakenBack) throw new ExchangeError(410, 'The source of this document has taken it back');
  return found;
}

const OPERATION = 'readDocument';
/** Nothing runs in a document, whoever wrote it, and nothing is loaded. */
const DOCUMENT_POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; sandbox";
/** Anything else that a source calls a type is none. */
const MEDIA_TYPE = /^[\w.+-]{1,100}\/[\w.+-]{1,100}(?:;\s*charset=[\w.-]{1,40})?$/;

/** What links of E14 and of `medical.document-bulk-download-urls` lead to: the signed link is the permission. */
export function addDocumentLinkRoute(
  app: FastifyInstance,
  deps: Pick<GatewayPlatform, 'store' | 'blobs' | 'linkSigningKey'>,
): void {
  addSignedLinkRoute(app, deps, 'document', OPERATION, async ({ accountId, targetId }, request, reply) => {
    const file = await deps.store.asAccount(accountId, async (tx) => {
      const document = await findDocument(tx, targetId);
      const made = document === undefined ? await findRenditionById(tx, targetId) : undefined;
      const { id, patientId } = notTakenBack(document ?? made?.document);
      await auditLink(tx, request, {
        operation: OPERATION,
        patientId: patientId ?? undefined,
        targetId: id,
      });
      return document ?? made;
    });
    if (file === undefined) throw new NotFoundError('Document');
    if ('rendition' in file) {
      const { rendition, document } = file;
      const name = `${document.fileName.replace(/\.\w+$/, '')}.${rendition.format}`;
      // Browsers show no pdf in a sandbox; ours has nothing that runs.
      if (rendition.format === 'html') reply.header('content-security-policy', DOCUMENT_POLICY);
      reply
        .type(RENDITION_TYPES[rendition.format])
        .header('content-disposition', contentDisposition('inline', name));
      return sendBlob(deps.blobs, rendition, reply);
    }
    reply
      .header('content-security-policy', DOCUMENT_POLICY)
      .type(MEDIA_TYPE.test(file.contentType) ? file.contentType : 'application/octet-stream')
      .header('content-disposition', contentDisposition('attachment', file.fileName));
    return sendBlob(deps.blobs, file, reply);
  });
}

async function sendBlob(
  blobs: BlobStore,
  { blobRef, sizeBytes }: { blobRef: string; sizeBytes: number },
  reply: FastifyReply,
): Promise<FastifyReply> {
  try {
    const content = await blobs.get(blobRef);
    return reply.header('content-length', sizeBytes).send(content);
  } catch (error) {
    throw error instanceof BlobNotFoundError ? new NotFoundError('Document') : error;
  }
}
