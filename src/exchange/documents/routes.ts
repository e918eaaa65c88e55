import type { FastifyInstance } from 'fastify';
import { idSchema } from '../../contract/primitives.ts';
import { findPatient } from '../patients/patient-store.ts';
import { NotFoundError } from '../platform/errors.ts';
import { contentDisposition } from '../platform/http/content-disposition.ts';
import type { GatewayPlatform } from '../platform/http/deps.ts';
import { ok, orNotFound } from '../platform/http/operation.ts';
import type { Operations } from '../platform/http/operations.ts';
import { addSignedLinkRoute, auditLink } from '../platform/links/signed-link-route.ts';
import { selectDocuments } from './describe-document.ts';
import { documentUrl } from './document-link.ts';
import {
  findAttachment,
  findDocument,
  findDocumentByName,
  findRenditionById,
  listDocuments,
} from './document-store.ts';
import { announceDocumentUrls } from './document-urls.ts';
import type { DocumentRenditions } from './renditions.ts';
import { RENDITION_TYPES } from './renditions.ts';
import { DOCUMENT_POLICY, notWithdrawn, sendBlob, sendDocument } from './send-document.ts';
import { documentDto, documentReference } from './serializers.ts';

/** The document operations, such as "E14. Get document URL". */
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

  // Not in one transaction, because a conversion may take seconds.
  operations.act(
    'getDocumentUrl',
    async ({ query, caller }) => {
      const { id: accountId } = caller.account;
      const document = notWithdrawn(
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

const OPERATION = 'readDocument';
/** The route behind signed document URLs (E14 and `medical.document-bulk-download-urls`): the link authorizes the request. */
export function addDocumentLinkRoute(
  app: FastifyInstance,
  deps: Pick<GatewayPlatform, 'store' | 'blobs' | 'linkSigningKey'>,
): void {
  addSignedLinkRoute(app, deps, 'document', OPERATION, async ({ accountId, targetId }, request, reply) => {
    const file = await deps.store.asAccount(accountId, async (tx) => {
      const document = await findDocument(tx, targetId);
      const rendered = document === undefined ? await findRenditionById(tx, targetId) : undefined;
      const { id, patientId } = notWithdrawn(document ?? rendered?.document);
      await auditLink(tx, request, {
        operation: OPERATION,
        patientId: patientId ?? undefined,
        targetId: id,
      });
      return document ?? rendered;
    });
    if (file === undefined) throw new NotFoundError('Document');
    if ('rendition' in file) {
      const { rendition, document } = file;
      const name = `${document.fileName.replace(/\.\w+$/, '')}.${rendition.format}`;
      // Browsers do not show PDFs in a sandbox, and ours contain no scripts.
      if (rendition.format === 'html') reply.header('content-security-policy', DOCUMENT_POLICY);
      reply
        .type(RENDITION_TYPES[rendition.format])
        .header('content-disposition', contentDisposition('inline', name));
      return sendBlob(deps.blobs, rendition, reply);
    }
    return sendDocument(deps.blobs, file, reply);
  });
}
