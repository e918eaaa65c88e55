import type { FastifyInstance, FastifyReply } from 'fastify';
import { v7 as uuidv7 } from 'uuid';
import { isJson, type Json, objectsOf, textOf } from '#record-summary/fhir';
import {
  DOCUMENT_URLS_EVENT_TYPE,
  type DocumentDto,
  type DocumentUrlsEvent,
} from '../../../contract/documents.ts';
import { idSchema } from '../../../contract/primitives.ts';
import type { BlobStore } from '../../../shared/blobs/blob-store.ts';
import {
  findPatient,
  type StoredPatient,
} from '../../people/patients/patient-store.ts';
import type { AccountTx } from '../../platform/database/database.ts';
import {
  ExchangeError,
  NotFoundError,
  orNotFound,
} from '../../platform/errors.ts';
import { contentDisposition } from '../../platform/http/content-disposition.ts';
import type { GatewayPlatform } from '../../platform/http/deps.ts';
import { ok } from '../../platform/http/operation.ts';
import type { Operations } from '../../platform/http/operations.ts';
import {
  addSignedLinkRoute,
  auditLink,
} from '../../platform/http/signed-link-route.ts';
import { insertEvent } from '../../platform/outbox/event-store.ts';
import {
  descriptionOf,
  documentUrl,
  selectDocuments,
} from './describe-document.ts';
import {
  type FoundDocument,
  findAttachment,
  findDocument,
  findDocumentByName,
  findRenditionById,
  type ListedDocument,
  listDocuments,
  type StoredDocument,
} from './document-store.ts';
import {
  type DocumentRenditions,
  orGone,
  RENDITION_TYPES,
} from './renditions.ts';

/** The document operations, such as "E14. Get document URL". */
export function addDocumentRoutes(
  operations: Operations,
  deps: Pick<GatewayPlatform, 'store' | 'links'> & {
    documentRenditions: Pick<DocumentRenditions, 'render'>;
  },
): void {
  operations.read('listDocuments', async (tx, { query }) => {
    const { id: patientId } = orNotFound(
      'Patient',
      await findPatient(tx, query.patientId),
    );
    const documents = selectDocuments(
      await listDocuments(tx, patientId),
      query,
    );
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
            (idSchema.safeParse(query.fileName).success
              ? findAttachment(tx, query.fileName)
              : undefined),
        ),
      );
      const targetId =
        query.conversionType === undefined
          ? document.id
          : await deps.documentRenditions.render(
              accountId,
              document,
              query.conversionType,
            );
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
    const patient = orNotFound(
      'Patient',
      await findPatient(tx, query.patientId),
    );
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
/**
 * The route behind signed document URLs (E14 and
 * `medical.document-bulk-download-urls`): the link authorizes the request.
 */
export function addDocumentLinkRoute(
  app: FastifyInstance,
  deps: Pick<GatewayPlatform, 'store' | 'blobs' | 'linkSigningKey'>,
): void {
  addSignedLinkRoute(
    app,
    deps,
    'document',
    OPERATION,
    async ({ accountId, targetId }, request, reply) => {
      const file = await deps.store.asAccount(accountId, async (tx) => {
        const document = await findDocument(tx, targetId);
        const rendered =
          document === undefined
            ? await findRenditionById(tx, targetId)
            : undefined;
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
        if (rendition.format === 'html')
          reply.header('content-security-policy', DOCUMENT_POLICY);
        reply
          .type(RENDITION_TYPES[rendition.format])
          .header('content-disposition', contentDisposition('inline', name));
        return sendBlob(deps.blobs, rendition, reply);
      }
      return sendDocument(deps.blobs, file, reply);
    },
  );
}

/**
 * Announces download URLs for all documents of a patient by webhook. The
 * documents are known at once, so no workflow is needed: the event is all
 * (decision 34). The URLs are added when the webhook is sent.
 */
async function announceDocumentUrls(
  tx: AccountTx,
  { id: patientId, externalId, additionalIdentifiers }: StoredPatient,
): Promise<{ requestId: string }> {
  const requestId = uuidv7();
  const type = DOCUMENT_URLS_EVENT_TYPE;
  const documents = await listDocuments(tx, patientId);
  const occurredAt = new Date();
  const announced: Omit<DocumentUrlsEvent['patients'][number], 'documents'> = {
    patientId,
    externalId: externalId ?? undefined,
    ...(Object.keys(additionalIdentifiers ?? {}).length === 0
      ? {}
      : { additionalIds: additionalIdentifiers }),
    status: 'completed',
  };
  await insertEvent(tx, {
    type,
    factKey: `${type}/${requestId}`,
    patientId,
    requestId,
    occurredAt,
    body: {
      meta: { requestId, when: occurredAt.toISOString(), type },
      patients: [
        {
          ...announced,
          documents: documents.map(
            ({ id, fileName, contentType, sizeBytes }) => ({
              id,
              fileName,
              mimeType: contentType,
              size: sizeBytes,
            }),
          ),
        },
      ],
    },
  });
  return { requestId };
}

function documentDto(document: ListedDocument): DocumentDto {
  const {
    id,
    fileName,
    contentType,
    sizeBytes,
    source,
    collectedAt,
    reference,
  } = document;
  return {
    id,
    fileName,
    description: descriptionOf(document),
    status: statusOf(document),
    indexed: textOf(reference?.date) ?? collectedAt.toISOString(),
    mimeType: contentType,
    size: sizeBytes,
    type: isJson(reference?.type) ? reference.type : undefined,
    source,
  };
}

/**
 * Elements copied from the source's DocumentReference; without those that refer
 * to other resources of the source.
 */
const COPIED_ELEMENTS = [
  'status',
  'docStatus',
  'type',
  'category',
  'date',
  'securityLabel',
] as const;

/**
 * A file as our own FHIR R4 DocumentReference; the attachment's title is the
 * file name that E14 accepts.
 */
function documentReference(document: ListedDocument) {
  const { id, patientId, fileName, contentType, sizeBytes, collectedAt } =
    document;
  const reference: Json = document.reference ?? {};
  const copied = Object.fromEntries(
    COPIED_ELEMENTS.flatMap((name) =>
      reference[name] === undefined ? [] : [[name, reference[name]]],
    ),
  );
  const authors = objectsOf(reference.author).flatMap(nameOnly);
  const [custodian] = objectsOf(reference.custodian).flatMap(nameOnly);
  const context =
    isJson(reference.context) && isJson(reference.context.period)
      ? reference.context.period
      : undefined;
  const format = objectsOf(reference.content).find(
    ({ attachment }) =>
      isJson(attachment) && attachment.contentType === contentType,
  )?.format;
  return {
    ...copied,
    status: statusOf(document),
    resourceType: 'DocumentReference' as const,
    id,
    meta: {
      lastUpdated: collectedAt.toISOString(),
      source: metaSource(reference) ?? fileName,
    },
    subject: { reference: `Patient/${patientId}` },
    description: descriptionOf(document),
    ...(authors.length > 0 && { author: authors }),
    ...(custodian && { custodian }),
    ...(context && { context: { period: context } }),
    content: [
      {
        attachment: { contentType, size: sizeBytes, title: fileName },
        ...(isJson(format) && { format }),
      },
    ],
  };
}

/** A document that a newer one replaces is not current, whatever it says. */
function statusOf({ reference, isReplaced }: ListedDocument): string {
  const status = textOf(reference?.status) ?? 'current';
  return isReplaced && status === 'current' ? 'superseded' : status;
}

const nameOnly = ({ display }: Json): { display: string }[] => {
  const name = textOf(display);
  return name === undefined ? [] : [{ display: name }];
};

const metaSource = ({ meta }: Json): string | undefined =>
  isJson(meta) ? textOf(meta.source) : undefined;

/** No scripts run in a document, and nothing is loaded by it. */
const DOCUMENT_POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; sandbox";
/**
 * Valid content types; any other text from a source is replaced by
 * octet-stream.
 */
const MEDIA_TYPE =
  /^[\w.+-]{1,100}\/[\w.+-]{1,100}(?:;\s*charset=[\w.-]{1,40})?$/;

export const servedTypeOf = ({
  contentType,
}: Pick<StoredDocument, 'contentType'>): string =>
  MEDIA_TYPE.test(contentType) ? contentType : 'application/octet-stream';

/**
 * @throws 404 without a document, 410 if its source has withdrawn it (it may be
 *   wrong or about another person), 403 if a policy withholds it.
 */
export function notWithdrawn(
  document: FoundDocument | undefined,
): FoundDocument {
  const found = orNotFound('Document', document);
  if (found.isTakenBack)
    throw new ExchangeError(410, 'The source has withdrawn this document');
  if (found.isWithheld)
    throw new ExchangeError(
      403,
      'A policy on sensitive data withholds this document, or it cannot be checked',
      { code: 'withheld-as-sensitive' },
    );
  return found;
}

/** Sends a document as its source delivered it, as a download. */
export function sendDocument(
  blobs: BlobStore,
  document: StoredDocument,
  reply: FastifyReply,
): Promise<FastifyReply> {
  reply
    .header('content-security-policy', DOCUMENT_POLICY)
    .type(servedTypeOf(document))
    .header(
      'content-disposition',
      contentDisposition('attachment', document.fileName),
    );
  return sendBlob(blobs, document, reply);
}

async function sendBlob(
  blobs: BlobStore,
  { blobRef, sizeBytes }: { blobRef: string; sizeBytes: number },
  reply: FastifyReply,
): Promise<FastifyReply> {
  const content = await orGone(blobs.get(blobRef));
  return reply.header('content-length', sizeBytes).send(content);
}
