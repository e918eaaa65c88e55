import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { v7 as uuidv7 } from 'uuid';
import type { SourceType } from '../../src/contract/primitives.ts';
import { settleQuery } from '../../src/exchange/queries/network-query/query-store.ts';
import {
  insertDocuments,
  insertSourcePatientIds,
  upsertResources,
} from '../../src/exchange/records/deliveries/delivery-store.ts';
import { revisionOf } from '../../src/exchange/records/rules/delivery-facts.ts';
import { loadSamplePatients } from '../../src/local-stack/sample-patients.ts';
import { loadCcda } from '../../tools/simulator/samples.ts';
import { deliveriesOf, patientIdsOf, samples } from './deliveries.ts';
import { createTestGateway } from './gateway.ts';

/**
 * A gateway that listens, and a page of somebody's application that embeds what
 * its query says: as `localhost` it may, as `127.0.0.1` it may not.
 */
export async function createEmbedEnvironment() {
  const host = createServer((request, response) => {
    const src =
      new URL(request.url ?? '/', 'http://host').searchParams.get('src') ?? '';
    response.setHeader('content-type', 'text/html');
    const frame = `<iframe title="Patient" style="width:100%;height:95vh" src="${src.replaceAll('"', '%22')}"></iframe>`;
    response.end(
      `<!doctype html><html lang="en"><title>Host</title><link rel="icon" href="data:,">${frame}</html>`,
    );
  });
  const hostPort = await listen(host);
  const gateway = await createTestGateway();
  const account = await gateway.addAccount({
    settings: { embed: { frameAncestors: [`http://localhost:${hostPort}`] } },
  });
  await gateway.app.listen({ host: '127.0.0.1', port: 0 });
  const origin = `http://127.0.0.1:${(gateway.app.server.address() as AddressInfo).port}`;
  const { accountId } = account;

  return {
    gateway,
    account,
    origin,
    hostUrl: (name: 'localhost' | '127.0.0.1', src: string) =>
      `http://${name}:${hostPort}/?src=${encodeURIComponent(src)}`,
    pageUrl: (patientId: string, token: string) =>
      `${origin}/embed/${accountId}/patient/${patientId}#access_token=${token}`,
    async token(expirationInSeconds?: number): Promise<string> {
      return (
        await account.call('POST', 'token/embed', { expirationInSeconds })
      ).json().token;
    },
    async addPatient(person: object): Promise<string> {
      const answer = await account.call(
        'POST',
        `patient?facilityId=${account.facilityId}`,
        person,
      );
      return answer.json().id;
    },
    async startQuery(patientId: string): Promise<string> {
      const sources = {
        hie: { enabled: true },
        pharmacy: { enabled: true },
        lab: { enabled: true },
      };
      const answer = await account.call(
        'POST',
        `network/query?patientId=${patientId}`,
        { sources },
      );
      return answer.json().requestId;
    },
    /** Has a source of a query get on, as its workflow would. */
    progress: (
      requestId: string,
      source: SourceType,
      changes: {
        status?: 'completed' | 'failed';
        resources?: number;
        reason?: string;
      },
    ) =>
      gateway.store.asAccount(accountId, async (tx) => {
        await tx.db
          .updateTable('network_query_attempt')
          .set({
            ...changes,
            ...(changes.status && { completed_at: new Date() }),
          })
          .where('query_id', '=', requestId)
          .where('source', '=', source)
          .execute();
        await settleQuery(tx, requestId);
      }),
    /**
     * What the hospitals of a sample person tell, and a document that can be
     * read.
     */
    async deliverRecord(patientId: string): Promise<void> {
      const sample = samples.find(({ key }) => key === 'keith-kiehn');
      const [withCcda] = loadSamplePatients();
      if (sample === undefined || withCcda === undefined)
        throw new Error('the samples are gone');
      for (const source of ['hie', 'lab', 'pharmacy'] as const) {
        const id = uuidv7();
        const file = {
          id,
          patientId,
          queryId: uuidv7(),
          source,
          fileName: `${source}-${id}.json`,
        };
        const deliveries = deliveriesOf(sample, [source]);
        await gateway.store.asAccount(accountId, async (tx) => {
          const contentType = 'application/fhir+json';
          await insertDocuments(tx, [
            { ...file, ...NO_BYTES, kind: 'page', contentType },
          ]);
          await insertSourcePatientIds(tx, patientId, source, [
            ...(patientIdsOf(sample).get(source) ?? []),
          ]);
          await upsertResources(
            tx,
            { patientId, source, documentId: id },
            deliveries.map(({ resourceType, sourceId, sha256, content }) => ({
              resourceType,
              sourceId,
              sha256,
              json: JSON.stringify(content),
              revision: revisionOf(content),
            })),
          );
        });
      }
      const blob = await gateway.blobs.put(
        'document',
        Buffer.from(loadCcda(withCcda)),
        'application/xml',
      );
      const id = uuidv7();
      await gateway.store.asAccount(accountId, (tx) =>
        insertDocuments(tx, [
          {
            id,
            patientId,
            queryId: uuidv7(),
            source: 'hie',
            kind: 'attachment',
            fileName: `hie-${id}.xml`,
            contentType: 'application/xml',
            sizeBytes: blob.sizeBytes,
            blobRef: blob.ref,
            sha256: Buffer.from(blob.sha256, 'hex'),
          },
        ]),
      );
    },
    async close(): Promise<void> {
      await new Promise((closed) => host.close(closed));
      await gateway.close();
    },
  };
}
export type EmbedEnvironment = Awaited<
  ReturnType<typeof createEmbedEnvironment>
>;

const NO_BYTES = {
  sizeBytes: 1,
  sha256: Buffer.alloc(32),
  blobRef: 'x',
} as const;

async function listen(server: Server): Promise<number> {
  await new Promise<void>((listening) =>
    server.listen(0, '127.0.0.1', listening),
  );
  return (server.address() as AddressInfo).port;
}
