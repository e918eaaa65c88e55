import type { FastifyInstance, FastifyRequest } from 'fastify';
import { v7 as uuidv7 } from 'uuid';
import { objectsOf } from '#record-summary/fhir';
import { CONTRIBUTED_DOCUMENT_BYTES_MAX } from '../../../contract/contribution.ts';
import type { BlobRef, BlobStore } from '../../../shared/blobs/blob-store.ts';
import { isOnLegalHold } from '../../people/patients/legal-hold-store.ts';
import {
  findPatient,
  lockPatient,
} from '../../people/patients/patient-store.ts';
import type { AccountTx } from '../../platform/database/database.ts';
import { isRolledBack } from '../../platform/database/postgres-errors.ts';
import type { Erasures } from '../../platform/erasure/erasures.ts';
import {
  ConflictError,
  ExchangeError,
  NotFoundError,
  orNotFound,
} from '../../platform/errors.ts';
import type {
  DepsOf,
  Feature,
  GatewayScopes,
  OpenFeature,
} from '../../platform/feature.ts';
import type { GatewayPlatform } from '../../platform/http/deps.ts';
import { noContent, ok } from '../../platform/http/operation.ts';
import type { Operations } from '../../platform/http/operations.ts';
import {
  addSignedLinkRoute,
  auditLink,
} from '../../platform/http/signed-link-route.ts';
import {
  createUploads,
  discardBody,
  UPLOAD_BYTES_A_MINUTE,
} from '../../platform/http/upload-body.ts';
import type {
  LinkMaker,
  LinkTarget,
} from '../../platform/links/signed-link.ts';
import type { Platform } from '../../platform/platform.ts';
import { deleting, removalRecovery } from '../../platform/recovery/recovery.ts';
import { createStartGuard } from '../../platform/recovery/start-guard.ts';
import type { Arrivals } from '../../records/arrivals/arrivals.ts';
import { documentOf } from '../../records/deliveries/delivery-store.ts';
import { mediaTypeOf } from '../../records/deliveries/inline-files.ts';
import { documentsToRead } from '../../records/documents-to-read.ts';
import { lockRecord } from '../../records/merge/merge-store.ts';
import type { RecordKeeper } from '../../records/record-keeper.ts';
import {
  type ContributionOutcome,
  contribute,
  findContribution,
  insertContribution,
  listContributions,
  removeContribution,
  removeNeverArrived,
} from './contributions.ts';
import {
  CONTRIBUTION,
  type Contributed,
  readContribution,
} from './read-contribution.ts';

/**
 * Callers' own data and documents in their patients' records
 * (docs/contribution.md).
 */
export const contributionFeature = {
  open: ({
    store,
    records,
  }: Pick<Platform, 'store'> & { records: RecordKeeper }): OpenFeature => ({
    recoveries: [
      documentsToRead(
        { store, records, startGuard: createStartGuard(store) },
        {
          name: 'contributed documents',
          source: CONTRIBUTION,
          since: 'created_at',
        },
      ),
      deleting(
        removalRecovery('documents that never arrived', (limit) =>
          store.asSystem((tx) => removeNeverArrived(tx, limit)),
        ),
      ),
    ],
    drain: async () => undefined,
  }),
  routes(
    { operations, open }: GatewayScopes,
    deps: DepsOf<typeof addContributionRoutes> &
      DepsOf<typeof addDocumentUploadRoute>,
  ) {
    addContributionRoutes(operations, deps);
    open((scope) => addDocumentUploadRoute(scope, deps));
  },
} satisfies Feature;

function addContributionRoutes(
  operations: Operations,
  {
    blobs,
    links,
    erasures,
    arrivals,
  }: Pick<GatewayPlatform, 'blobs' | 'links'> & {
    erasures: Pick<Erasures, 'start'>;
    arrivals: Pick<Arrivals, 'tell'>;
  },
): void {
  // Published clients of an older kind send it by POST.
  operations.write(
    'contributeData',
    async (tx, { params, body, caller }) => {
      const patient = orNotFound('Patient', await lockPatient(tx, params.id));
      const resources = readContribution(patient, body.entry);
      const id = uuidv7();
      const of = {
        id,
        patientId: patient.id,
        kind: 'resources',
        contributedBy: caller.actor,
      } as const;
      const outcomes = await contribute(tx, blobs, { ...of, resources });
      return ok(responseOf(id, outcomes), {
        patientId: patient.id,
        targetId: id,
        afterCommit: arrivals.tell,
      });
    },
    { method: 'POST' },
  );

  addDocumentRoute(operations, links);

  operations.read('listContributions', async (tx, { params }) => {
    const { id: patientId } = orNotFound(
      'Patient',
      await findPatient(tx, params.id),
    );
    const contributions = await listContributions(tx, patientId);
    return ok({
      contributions: contributions.map((each) => ({
        ...each,
        contributedAt: each.contributedAt.toISOString(),
      })),
    });
  });

  operations.write('removeContribution', async (tx, { params }) => {
    const { id: patientId } = orNotFound(
      'Patient',
      await lockPatient(tx, params.id),
    );
    if (await isOnLegalHold(tx, patientId))
      throw new ConflictError(
        'The patient is under legal hold; nothing is removed until an operator lifts it',
      );
    await lockRecord(tx, patientId);
    if (!(await removeContribution(tx, patientId, params.contributionId)))
      throw new NotFoundError('Contribution');
    return noContent({
      patientId,
      targetId: params.contributionId,
      afterCommit() {
        erasures.start();
        arrivals.tell();
      },
    });
  });
}

const STATUS = {
  created: '201 Created',
  updated: '200 OK',
  unchanged: '200 OK',
};
const SAID = {
  created: 'Created',
  updated: 'Replaced what was contributed before',
  unchanged: 'The same was contributed before; nothing changed',
};

/** A Bundle as a FHIR server answers a transaction. */
const responseOf = (id: string, outcomes: readonly ContributionOutcome[]) => ({
  resourceType: 'Bundle' as const,
  id,
  type: 'transaction-response',
  entry: outcomes.map(({ name, version, outcome, at }) => ({
    response: {
      status: STATUS[outcome],
      location: `${name}/_history/${version}`,
      etag: `W/"${version}"`,
      lastModified: at.toISOString(),
      outcome: {
        resourceType: 'OperationOutcome',
        issue: [
          {
            severity: 'information',
            code: 'informational',
            diagnostics: SAID[outcome],
          },
        ],
      },
    },
  })),
});

const UPLOAD_LIFETIME_MS = 60 * 60_000;

/** `POST /document/upload`: describes a document; its file follows. */
function addDocumentRoute(operations: Operations, links: LinkMaker): void {
  operations.write(
    'contributeDocument',
    async (tx, { query, body, caller }) => {
      const patient = orNotFound(
        'Patient',
        await lockPatient(tx, query.patientId),
      );
      const id = uuidv7();
      const documentId = uuidv7();
      const { contained: _, author: __, ...given } = body;
      const reference = {
        date: new Date().toISOString(),
        ...given,
        resourceType: 'DocumentReference',
        id: documentId,
        status: 'current',
        subject: { reference: `Patient/${patient.id}` },
        content: [{ attachment: { title: body.description } }],
      };
      const [resource] = readContribution(
        patient,
        [{ resource: reference }],
        () => '',
      );
      await insertContribution(tx, {
        id,
        patientId: patient.id,
        kind: 'document',
        contributedBy: caller.actor,
        toBeRead: false,
        awaiting: JSON.stringify(resource),
      });
      const target = { accountId: tx.accountId, targetId: id };
      const uploadUrl = links.url(
        'document-upload',
        target,
        UPLOAD_LIFETIME_MS,
      );
      return ok(
        { documentReferenceId: documentId, uploadUrl },
        { patientId: patient.id, targetId: id },
      );
    },
  );
}

const LIMITS = {
  bytesMax: CONTRIBUTED_DOCUMENT_BYTES_MAX,
  idleMs: 60_000,
  idleBytes: UPLOAD_BYTES_A_MINUTE,
  totalMs: 60 * 60_000,
};

/**
 * `PUT {uploadUrl}`: the link authorises it. The document is in the record when
 * the response comes, or not at all.
 */
function addDocumentUploadRoute(
  app: FastifyInstance,
  deps: Pick<GatewayPlatform, 'store' | 'blobs' | 'linkSigningKey'> & {
    arrivals: Pick<Arrivals, 'tell'>;
  },
): void {
  const { store, blobs, arrivals } = deps;
  const uploads = createUploads(LIMITS);
  app.removeAllContentTypeParsers();
  // The body stays a stream, whatever its Content-Type.
  app.addContentTypeParser('*', (_request, _body, done) => done(null));
  app.addHook('onError', async ({ raw }) => discardBody(raw));
  const operation = 'uploadDocument';
  const upload = async (
    { accountId, targetId: id }: LinkTarget,
    request: FastifyRequest,
  ) => {
    const contentType = mediaTypeOf(request.headers['content-type']);
    const blob = await uploads(request, { accountId, targetId: id }, (open) =>
      blobs.put('document', open(), contentType),
    );
    if (blob.sizeBytes === 0) throw new ExchangeError(400, 'The file is empty');
    const outcome = await store
      .asAccount(accountId, async (tx) => {
        const { patientId, ...received } = await receive(tx, blobs, id, blob);
        await auditLink(tx, request, { operation, patientId, targetId: id });
        return received.outcome;
      })
      .catch(async (error: unknown) => {
        // Not after a commit of which nobody knows: it may have succeeded. A blob
        // that no row names is swept.
        if (isRolledBack(error))
          await blobs.delete(blob.ref).catch(() => undefined);
        throw error;
      });
    if (outcome === 'new') arrivals.tell();
    else await blobs.delete(blob.ref);
    if (outcome === 'other')
      throw new ConflictError(
        'This document has another file already; remove its contribution, or contribute a new document',
      );
    return { sizeBytes: blob.sizeBytes, sha256: blob.sha256 };
  };
  addSignedLinkRoute(
    app,
    deps,
    'document-upload',
    operation,
    async (link, request, reply) => reply.send(await upload(link, request)),
    { method: 'PUT' },
  );
}

/**
 * Makes the awaited document one with this file. `same`: it has it already;
 * `other`: it has another one.
 */
async function receive(
  tx: AccountTx,
  blobs: Pick<BlobStore, 'put'>,
  id: string,
  blob: BlobRef,
) {
  const { patientId } = orNotFound('Document', await findContribution(tx, id));
  // From here on it does not change: every writer takes this lock.
  await lockRecord(tx, patientId);
  const { awaiting, contributedBy, sha256 } = orNotFound(
    'Document',
    await findContribution(tx, id),
  );
  if (awaiting === null)
    return {
      patientId,
      outcome: sha256 === blob.sha256 ? ('same' as const) : ('other' as const),
    };
  const [{ attachment = {} } = {}] = objectsOf(awaiting.content) as {
    attachment?: object;
  }[];
  const { contentType, sizeBytes: size } = blob;
  const resource = {
    ...awaiting,
    content: [{ attachment: { ...attachment, contentType, size } }],
  } as unknown as Contributed;
  const uploaded = documentOf(blob, CONTRIBUTION, {
    sourceDocumentId: resource.id,
  });
  const of = { id, patientId, kind: 'document', contributedBy } as const;
  await contribute(tx, blobs, { ...of, resources: [resource], uploaded });
  return { patientId, outcome: 'new' as const };
}
