import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { MetriportMedicalApi } from '@metriport/api-sdk';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { loadSamplePatients } from '../../src/local-stack/sample-patients.ts';
import {
  callGateway,
  type StackAccount,
  type TestStack,
} from '../support/stack.ts';

interface Webhook {
  type: string;
  signed: boolean;
  body: unknown;
}

const SOURCES = {
  hie: { enabled: true },
  pharmacy: { enabled: true, realtime: false },
  lab: { enabled: true },
};
type PatientUpdate = Parameters<MetriportMedicalApi['updatePatient']>[0];
type PatientDraft = Parameters<MetriportMedicalApi['createPatient']>[0];
const [PERSON, SOMEBODY_ELSE] = loadSamplePatients().map(
  ({ createBody }) => createBody as PatientDraft,
);

/**
 * The published client of this interface, unchanged, on a running stack: it
 * checks many answers by schemas of its own, and throws at what it does not
 * know (interface-decisions.md: "clients already published for this
 * interface").
 */
export function describePublishedClient(runningStack: () => TestStack): void {
  if (PERSON === undefined || SOMEBODY_ELSE === undefined)
    throw new Error('no samples');
  const person = PERSON;
  const somebodyElse = SOMEBODY_ELSE;

  describe('a client that exists in the field, with the dialect `published`', () => {
    let account: StackAccount;
    let client: MetriportMedicalApi;
    let receiver: Server;
    let webhookKey = '';
    const webhooks: Webhook[] = [];
    const received = (type: string) =>
      webhooks.filter((webhook) => webhook.type === type);

    beforeAll(async () => {
      const stack = runningStack();
      account = await stack.addAccount();
      await stack.rows(
        "update account set dialect = 'published' where id = $1",
        [account.accountId],
      );
      client = new MetriportMedicalApi(account.apiKey, {
        baseAddress: stack.connection.baseUrl,
      });
      receiver = createServer((request, response) => {
        let text = '';
        request.setEncoding('utf8').on('data', (part: string) => {
          text += part;
        });
        request.on('end', () => {
          const body = JSON.parse(text);
          const signature = String(request.headers['x-metriport-signature']);
          const signed = client.verifyWebhookSignature(
            webhookKey,
            text,
            signature,
          );
          webhooks.push({ type: body.meta.type, signed, body });
          response.setHeader('content-type', 'application/json');
          response.end(
            JSON.stringify(body.ping === undefined ? {} : { pong: body.ping }),
          );
        });
      }).listen(0, '127.0.0.1');
      await once(receiver, 'listening');
      webhookKey = String((await client.getSettings()).webhookKey);
      await client.updateSettings(
        `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`,
      );
    });
    afterAll(() => {
      receiver?.close();
    });

    test('works with facilities, cohorts and settings', async () => {
      await client.retryWebhookRequests();
      expect(await client.getWebhookStatus()).toMatchObject({
        webhookEnabled: true,
      });
      const address = {
        addressLine1: '1 Main',
        city: 'Boston',
        state: 'MA',
        zip: '02114',
        country: 'USA',
      };
      const draft = {
        name: 'North',
        npi: '1245319599',
        tin: '12-3456789',
        active: true,
        address,
      };
      const facility = await client.createFacility(
        draft as Parameters<typeof client.createFacility>[0],
      );
      const renamed = await client.updateFacility({
        ...facility,
        name: 'South',
      });
      expect((await client.listFacilities()).map(({ name }) => name)).toContain(
        'South',
      );
      await client.deleteFacility(facility.id, renamed.eTag);

      // The client has no call for it.
      const body = { name: 'Diabetes', color: 'red' };
      const created = (
        await callGateway(
          runningStack().connection,
          account,
          'POST',
          'cohort',
          { body },
        )
      ).body;
      const cohort = await client.updateCohort({
        id: created.id,
        eTag: created.eTag,
        description: 'x',
      });
      expect(await client.getCohort(created.id)).toMatchObject({
        name: 'Diabetes',
        description: 'x',
      });
      expect((await client.listCohorts()).cohorts).toHaveLength(1);
      const patient = await client.createPatient(
        somebodyElse,
        account.facilityId,
      );
      await client.addPatientToCohorts(patient.id, [cohort.id]);
      expect(
        (await client.listCohortsForPatient(patient.id)).cohorts,
      ).toHaveLength(1);
      await client.addPatientsToCohort({
        cohortId: cohort.id,
        patientIds: [patient.id],
      });
      const { patients } = await client.listPatientsInCohort({
        id: cohort.id,
        pagination: { count: 1 },
      });
      expect(patients.map(({ id }) => id)).toEqual([patient.id]);
      await client.removePatientsFromCohort({
        cohortId: cohort.id,
        allPatients: true,
      });
      await client.deleteCohort(cohort.id);
    });

    test('keeps a patient: creates, finds, updates by eTag, opts out and in', async () => {
      const draft = { ...person, externalId: 'chart-1' };
      const patient = await client.createPatient(draft, account.facilityId);
      expect(typeof patient.firstName).toBe('string');
      expect(await client.getPatient(patient.id)).toMatchObject({
        id: patient.id,
      });
      expect(await client.getPatientByExternalId('chart-1')).toMatchObject({
        id: patient.id,
      });
      expect(await client.matchPatient(person)).toMatchObject({
        id: patient.id,
      });
      expect(
        await client.matchPatient({ ...person, dob: '1901-01-01' }),
      ).toBeUndefined();
      const { facilityIds: _, ...demographics } = patient as typeof patient &
        PatientUpdate;
      const contact = [{ phone: '6175551234', email: 'a.b+c@example.org' }];
      await client.updatePatient(
        { ...demographics, contact },
        account.facilityId,
      );
      const stale = client.updatePatient(demographics, account.facilityId);
      await expect(stale).rejects.toMatchObject({ response: { status: 412 } });
      // Sent without a body, and with the content type of a form, as axios
      // does.
      expect(
        await client.updatePatientHieOptOut(patient.id, true),
      ).toMatchObject({ hieOptOut: true });
      expect(
        await client.updatePatientHieOptOut(patient.id, false),
      ).toMatchObject({ hieOptOut: false });
      await client.updatePatientTreatmentRelationship(patient.id, true);
      await client.setPatientFacilities(patient.id, [account.facilityId]);
      expect(await client.getPatientFacilities(patient.id)).toHaveLength(1);

      const first = await client.listPatients({ pagination: { count: 1 } });
      const second = await client.listPatientsPage(String(first.meta.nextPage));
      expect(
        [...first.patients, ...second.patients].map(({ id }) => id),
      ).toContain(patient.id);
    });

    test('asks the networks, reads record and documents, sends a message, and verifies and reads each webhook', async () => {
      const patientId = String((await client.matchPatient(person))?.id);
      const query = await client.startNetworkQuery({
        patientId,
        sources: SOURCES,
        metadata: { job: '1' },
      });
      expect(query.status).toBe('processing');
      const ended = async () =>
        (await client.getNetworkQueryStatus({ requestId: query.requestId }))
          .status;
      await expect.poll(ended, { timeout: 240_000 }).toBe('completed');
      await client.startNetworkQuery({ patientId, sources: ['lab'] });

      const bundle = await client.getPatientConsolidated(
        patientId,
        ['Condition'],
        '1900-01-01',
        '2100-01-01',
      );
      const { total } = await client.countPatientConsolidated(patientId, [
        'Condition',
      ]);
      expect(bundle).toMatchObject({
        resourceType: 'Bundle',
        type: 'searchset',
      });
      expect(bundle.entry).toHaveLength(total);
      const started = await client.startConsolidatedQuery(
        patientId,
        ['Condition'],
        undefined,
        undefined,
        'json',
      );
      expect(
        (await client.getConsolidatedQueryStatus(patientId)).queries,
      ).toBeInstanceOf(Array);
      await client.getSingleConsolidatedQueryStatus(
        patientId,
        started.requestId,
      );

      expect(
        (await client.listDocuments(patientId)).documents[0]?.resourceType,
      ).toBe('DocumentReference');
      const documents = await client.listDocumentsAsDTO(patientId);
      const document = documents.find(({ mimeType }) =>
        mimeType?.includes('xml'),
      );
      expect(
        (await client.getDocumentUrl(String(document?.fileName), 'html')).url,
      ).toMatch(/^http/);
      await client.startBulkGetDocumentUrl(patientId, { job: '2' });

      const letter = {
        patientId,
        destination: '2.16.840.1.113883.3.9621.7.42',
        subject: 'Hello',
        body: 'Text',
      };
      const message = await client.sendMessage(letter);
      expect(
        (await client.listMessages({ direction: 'outbound' })).messages,
      ).toHaveLength(1);
      expect(await client.getMessage(message.id)).toMatchObject({
        id: message.id,
      });
      expect(
        (await client.createEmbedToken({ expirationInSeconds: 60 })).token,
      ).toMatch(/^ey/);

      const expected = [
        'network-query.hie',
        'network-query.hie.first-data-ready',
        'network-query.pharmacy',
      ]
        .concat([
          'network-query.lab',
          'medical.consolidated-data',
          'medical.document-bulk-download-urls',
        ])
        .concat(['message.status', 'ping']);
      for (const type of expected)
        await expect
          .poll(() => received(type), { message: type, timeout: 240_000 })
          .not.toHaveLength(0);
      for (const { signed, body } of webhooks) {
        expect(signed).toBe(true);
        expect(MetriportMedicalApi.parseWebhookResponse(body)).toMatchObject({
          meta: expect.anything(),
        });
      }
      await client.deletePatient(patientId, account.facilityId);
    });
  });
}
