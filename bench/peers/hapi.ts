import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createHapi } from '../../test/foreign/hapi-server.ts';
import { startPostgres } from '../../tools/embedded/postgres.ts';
import { cpuSecondsOf, cpuSecondsWithChildren } from '../bulk/cpu-times.ts';
import { bundleOf, isDocument, recordsOfSample } from './bundles.ts';
import type { PeerMeasured } from './measured.ts';

export interface Hapi {
  /** Loads the records of so many further patients. */
  load(patients: number, inFlight: number): Promise<PeerMeasured>;
  /** Throws unless everything that was loaded is there. */
  check(): Promise<void>;
  stop(): Promise<void>;
}

/**
 * HAPI's JPA server on a PostgreSQL of its own, which has the settings of ours.
 */
export async function startHapi(sample: string): Promise<Hapi> {
  const dataDir = await mkdtemp(join(tmpdir(), 'bench-hapi-'));
  const postgres = await startPostgres({
    dataDir: join(dataDir, 'postgres'),
    logFile: join(dataDir, 'postgres.log'),
  });
  const { username, password, port, pathname } = new URL(postgres.databaseUrl);
  const jdbcUrl = `jdbc:postgresql://127.0.0.1:${port}${pathname}?user=${username}&password=${password}`;
  const server = await createHapi(dataDir, { jdbcUrl, heap: '2g' });
  const stop = async () => {
    await server.stop();
    await postgres.stop();
    await rm(dataDir, { recursive: true, force: true });
  };
  await server.start().catch(async (error: unknown) => {
    await stop();
    throw error;
  });
  const records = recordsOfSample(sample);
  const cpuSeconds = () => ({
    server: cpuSecondsOf(server.pid()),
    postgres: cpuSecondsWithChildren(postgres.pid),
  });

  let loaded = 0;
  return {
    async load(patients, inFlight) {
      const waiting = Array.from({ length: patients }, () => {
        loaded += 1;
        return records.map((record) => bundleOf(record, loaded));
      });
      const resources = waiting
        .flat()
        .flatMap(({ entry }) =>
          entry.filter((each) => !isDocument(each)),
        ).length;
      const cpuBefore = cpuSeconds();
      const begunAt = performance.now();
      const lane = async () => {
        // The bundles of a patient side by side, as our query asks its sources,
        // each in one transaction of HAPI.
        for (
          let bundles = waiting.shift();
          bundles !== undefined;
          bundles = waiting.shift()
        )
          await Promise.all(
            bundles.map((bundle) => server.call('POST', '', bundle)),
          );
      };
      await Promise.all(Array.from({ length: inFlight }, lane));
      const cpu = cpuSeconds();
      const seconds = (performance.now() - begunAt) / 1000;
      return {
        resourcesPerSecond: resources / seconds,
        cpuMs: {
          server: ((cpu.server - cpuBefore.server) * 1000) / resources,
          postgres: ((cpu.postgres - cpuBefore.postgres) * 1000) / resources,
        },
      };
    },
    async check() {
      const { total } = await server.call('GET', 'Patient?_summary=count');
      if (total !== loaded * records.length)
        throw new Error(
          `HAPI has ${String(total)} Patients of ${loaded * records.length}`,
        );
    },
    stop,
  };
}
