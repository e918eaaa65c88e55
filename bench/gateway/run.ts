import { type ChildProcess, fork } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Pool, request } from 'undici';
import { generateApiKey } from '../../src/exchange/access/accounts/rules/api-key.ts';
import { seedDemoAccount } from '../../src/exchange/operations/admin/seed.ts';
import {
  createStore,
  type Store,
} from '../../src/exchange/platform/database/database.ts';
import { createWebhookKeys } from '../../src/exchange/platform/outbox/webhook-key.ts';
import { parseKeyRing } from '../../src/lib/key-ring.ts';
import { loadSamplePatients } from '../../src/local-stack/sample-patients.ts';
import { startPostgres } from '../../tools/embedded/postgres.ts';
import { cpuOfTree } from '../cpu.ts';
import type { Without } from './assembly.ts';
import type { ServeOrder } from './serve.ts';

export interface GatewayBenchOptions {
  rounds: number;
  seconds: number;
  inFlight: number;
}

/** Results of one kind of request at one gateway in one round. */
export interface Measured {
  request: string;
  gateway: string;
  round: number;
  requestsPerSecond: number;
  /** CPU time of the gateway's process, in milliseconds per request. */
  gatewayCpuMs: number;
  /**
   * CPU time of all PostgreSQL processes, in milliseconds per request; NaN
   * without /proc.
   */
  postgresCpuMs: number;
}

export interface GatewayBenchResult {
  measured: Measured[];
  /** Load average of the machine at the beginning and the end. */
  load: [number, number];
}

export const VARIANTS: Record<string, Without> = {
  'as it is': {},
  'key remembered': { keyLookUp: true },
  'reads not audited': { readAudit: true },
  neither: { keyLookUp: true, readAudit: true },
};

/**
 * Measures a cheap GET and a GET of a patient at gateways with and without key
 * look-up and read audit.
 */
export async function benchGateway(
  { rounds, seconds, inFlight }: GatewayBenchOptions,
  note: (line: string) => void,
): Promise<GatewayBenchResult> {
  const dataDir = await mkdtemp(join(tmpdir(), 'bench-gateway-'));
  const postgres = await startPostgres({
    dataDir: join(dataDir, 'postgres'),
    logFile: join(dataDir, 'postgres.log'),
  });
  const store = createStore({ databaseUrl: postgres.databaseUrl, poolMax: 2 });
  const child = fork(
    fileURLToPath(new URL('./serve.ts', import.meta.url)),
    [],
    {
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    },
  );
  try {
    await store.migrate();
    const apiKey = generateApiKey();
    const { facilityId } = await prepare(store, apiKey);
    const order: ServeOrder = {
      databaseUrl: postgres.databaseUrl,
      dataKeys: `bench:${randomBytes(32).toString('base64')}`,
      variants: VARIANTS,
    };
    const urls = await ask<Record<string, string>>(child, order);
    const patientId = await addPatient(
      urls['as it is'] ?? '',
      apiKey,
      facilityId,
    );
    const paths = {
      'a facility list': '/medical/v1/facility',
      'a patient': `/medical/v1/patient/${patientId}`,
    };
    const load: [number, number] = [loadavg()[0] ?? 0, 0];
    const measured: Measured[] = [];
    const cpu = async () => ({
      gateway: await ask<NodeJS.CpuUsage>(child, 'cpu'),
      postgresMs: await cpuOfTree(postgres.pid),
    });
    // The first round is a warm-up.
    for (let round = 0; round <= rounds; round += 1)
      for (const [name, path] of Object.entries(paths))
        for (const [variant, url] of Object.entries(urls)) {
          const before = await cpu();
          const begun = performance.now();
          const requests = await send({
            url,
            path,
            apiKey,
            inFlight,
            forMs: round === 0 ? 1_000 : seconds * 1_000,
          });
          const passed = (performance.now() - begun) / 1_000;
          const after = await cpu();
          if (round === 0) continue;
          const gatewayUs =
            after.gateway.user +
            after.gateway.system -
            before.gateway.user -
            before.gateway.system;
          measured.push({
            request: name,
            gateway: variant,
            round,
            requestsPerSecond: requests / passed,
            gatewayCpuMs: gatewayUs / 1_000 / requests,
            postgresCpuMs: (after.postgresMs - before.postgresMs) / requests,
          });
          note(
            `${round}/${rounds} ${name}, ${variant}: ${Math.round(requests / passed)}/s`,
          );
        }
    load[1] = loadavg()[0] ?? 0;
    return { measured, load };
  } finally {
    child.disconnect();
    await store.close();
    await postgres.stop();
    await rm(dataDir, { recursive: true, force: true });
  }
}

/** Creates the client's account, with limits that it cannot reach. */
async function prepare(
  store: Store,
  apiKey: string,
): Promise<{ facilityId: string }> {
  const { accountId, facilityId } = await seedDemoAccount(store, {
    apiKey,
    webhookKeys: createWebhookKeys(
      parseKeyRing(`bench:${randomBytes(32).toString('base64')}`),
    ),
  });
  const settings = JSON.stringify({
    limits: { requestsPerMinute: 10_000_000 },
  });
  await store.asSystem((tx) =>
    tx.db
      .updateTable('account')
      .set({ settings })
      .where('id', '=', accountId)
      .execute(),
  );
  return { facilityId };
}

async function addPatient(
  url: string,
  apiKey: string,
  facilityId: string,
): Promise<string> {
  const [sample] = loadSamplePatients();
  if (sample === undefined) throw new Error('There are no sample patients');
  const { body } = await request(
    `${url}/medical/v1/patient?facilityId=${facilityId}`,
    {
      method: 'POST',
      headers: { 'x-api-key': apiKey, 'content-type': 'application/json' },
      body: JSON.stringify(sample.createBody),
    },
  );
  const { id } = (await body.json()) as { id?: string };
  if (id === undefined) throw new Error('The patient was not created');
  return id;
}

async function ask<T>(
  child: ChildProcess,
  message: ServeOrder | 'cpu',
): Promise<T> {
  const answer = once(child, 'message');
  child.send(message);
  const [value] = await answer;
  return value as T;
}

/**
 * Keeps this many requests in flight and returns how many were completed.
 * Throws at the first response other than 200.
 */
async function send(of: {
  url: string;
  path: string;
  apiKey: string;
  inFlight: number;
  forMs: number;
}): Promise<number> {
  const pool = new Pool(of.url, { connections: of.inFlight, pipelining: 1 });
  const endsAtMs = performance.now() + of.forMs;
  let requests = 0;
  const lane = async () => {
    while (performance.now() < endsAtMs) {
      const { statusCode, body } = await pool.request({
        path: of.path,
        method: 'GET',
        headers: { 'x-api-key': of.apiKey },
      });
      const text = await body.text();
      if (statusCode !== 200)
        throw new Error(`${of.path} answered ${statusCode}: ${text}`);
      requests += 1;
    }
  };
  await Promise.all(Array.from({ length: of.inFlight }, lane));
  await pool.close();
  return requests;
}
