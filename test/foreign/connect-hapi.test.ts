import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { DEMO_ACCOUNT_ID } from '../../src/exchange/operations/admin/seed.ts';
import { ada, adaAtSource } from '../support/ada.ts';
import { createAuthority } from '../support/authority.ts';
import { startAuthorizationServer } from '../support/authorization-server.ts';
import { startFhirServer } from '../support/fhir-server.ts';
import { newPerson } from '../support/gateway.ts';
import { starter } from '../support/run-starter.ts';
import { guide, runGuideLine } from '../support/sources-guide.ts';
import {
  callGateway,
  startTestStack,
  type TestStack,
} from '../support/stack.ts';
import { makeTestFolder } from '../support/test-folder.ts';
import { createHapi, type HapiServer, hapiMissing } from './hapi-server.ts';

/**
 * docs/sources.md, followed with npm `oidc-provider` as the authorization
 * server in front of HAPI, both over https.
 */
const missing = hapiMissing();
const SCOPE = 'system/*.rs';
const OBSERVATIONS = 250;

describe.skipIf(missing !== undefined)(
  'the guide, with oidc-provider and HAPI',
  () => {
    let folder: string;
    let stack: TestStack;
    let hapi: HapiServer;
    let authority: Awaited<ReturnType<typeof createAuthority>>;
    let login: Awaited<ReturnType<typeof startAuthorizationServer>>;
    let network: Awaited<ReturnType<typeof startFhirServer>>;

    beforeAll(async () => {
      folder = await makeTestFolder();
      await mkdir(join(folder, 'hapi'));
      hapi = await createHapi(join(folder, 'hapi'));
      await hapi.start();
      stack = await startTestStack({ dataDir: join(folder, 'data') });
      authority = await createAuthority();
      const site = await authority.issue('DNS:localhost');
      const client = {
        client_id: 'our-id',
        token_endpoint_auth_method: 'private_key_jwt',
        token_endpoint_auth_signing_alg: 'ES384',
        jwks_uri: `${stack.connection.baseUrl}/.well-known/jwks.json`,
        scope: SCOPE,
      } as const;
      login = await startAuthorizationServer(site, {
        scopes: [SCOPE],
        clients: [client],
      });
      network = await startFhirServer(site, {
        isActive: login.isActive,
        smartConfiguration: { token_endpoint: login.tokenUrl },
        upstreamPort: hapi.port,
      });
      await writeFile(join(folder, 'ca.pem'), authority.cert);
      await hapi.call('PUT', 'Patient/p1', adaAtSource);
      const entry = Array.from({ length: OBSERVATIONS }, (_, n) => ({
        resource: {
          resourceType: 'Observation',
          id: `o-${n}`,
          status: 'final',
          code: { text: `finding ${n}` },
          subject: { reference: 'Patient/p1' },
        },
        request: { method: 'PUT', url: `Observation/o-${n}` },
      }));
      await hapi.call('POST', '', {
        resourceType: 'Bundle',
        type: 'batch',
        entry,
      });
    });
    afterAll(async () => {
      await Promise.all([
        stack?.stop(),
        login?.stop(),
        network?.stop(),
        hapi?.stop(),
      ]);
      await authority?.remove();
      if (folder !== undefined)
        await rm(folder, { recursive: true, force: true });
    });

    const admin = (
      line: string | undefined,
      values: Record<string, string>,
      ...more: string[]
    ) => runGuideLine(stack.dataDir, line, values, ...more);

    /**
     * Queries the patient as the guide says, until the query has ended; returns
     * what `status` prints.
     */
    async function query(patientId: string): Promise<string> {
      const of = ['--data-dir', stack.dataDir];
      const ran = await starter([
        'query',
        patientId,
        '--sources',
        'hie',
        '--json',
        ...of,
      ]);
      const requestId = String(ran.json().requestId);
      return vi.waitFor(
        async () => {
          const { stdout } = await starter(['status', requestId, ...of]);
          expect(stdout).toMatch(/query-ended|The query (completed|failed)/);
          return stdout;
        },
        { timeout: 120_000, interval: 2_000 },
      );
    }

    test('leads from a contract to the whole record, with the setting that its own message names', async () => {
      const { apiKey, facilityId } = stack.connection;
      const body = newPerson({
        firstName: 'Ada',
        lastName: 'Lovelace',
        dob: ada.dob,
        genderAtBirth: 'F',
        address: ada.addresses,
      });
      const caller = { accountId: DEMO_ACCOUNT_ID, apiKey, facilityId };
      const made = await callGateway(
        stack.connection,
        caller,
        'POST',
        `patient?facilityId=${facilityId}`,
        {
          body,
        },
      );
      const patientId = made.body.id;

      const [create] = await guide('npm run admin -- connections create');
      const [check, checkPatient] = await guide(
        'npm run admin -- connections check',
      );
      const [resume] = await guide('npm run admin -- connections resume');
      const created = await admin(
        create,
        {
          $A: DEMO_ACCOUNT_ID,
          'https://fhir.network.example/r4': network.baseUrl,
        },
        '--tls-ca',
        join(folder, 'ca.pem'),
      );
      const id = /\(([0-9a-f-]{36})\)/.exec(created)?.[1] ?? '';
      expect(await admin(check, { '<connection>': id })).toContain(
        'works  metadata: the server speaks FHIR 4.0.1; it has Patient/$everything',
      );
      expect(
        await admin(checkPatient, {
          '<connection>': id,
          '<patientId>': patientId,
        }),
      ).toContain('works  patient: the source knows this patient (1 record)');
      await admin(resume, { '<connection>': id });

      // Behind TLS that ends in front of it, HAPI calls itself by http.
      const own = network.baseUrl.replace('https:', 'http:');
      const refused = await query(patientId);
      expect(refused).toContain(
        `linked to ${new URL(own).origin}, which is not one of its configured origins: name it in --allowed-origins, or in --own-base-urls if the server calls itself so (npm run admin -- connections set ${id})`,
      );
      await admin(
        `npm run admin -- connections set ${id}`,
        {},
        '--own-base-urls',
        own,
      );
      expect(await query(patientId)).toContain('First network: ');
      const [stored] = await stack.rows<{ count: number }>(
        "select count(*)::int as count from patient_resource where resource_type = 'Observation'",
      );
      expect(stored).toEqual({ count: OBSERVATIONS });
      expect(login.calls.every(({ status }) => status === 200)).toBe(true);
    });
  },
);
