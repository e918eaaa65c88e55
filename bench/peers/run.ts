import { loadavg } from 'node:os';
import { hapiMissing } from '../../test/foreign/hapi-server.ts';
import { cpuSecondsOf } from '../bulk/cpu-times.ts';
import { type Environment, startEnvironment } from '../query/environment.ts';
import { ours, preparePatients, recordSample } from '../query/run.ts';
import { type Hapi, startHapi } from './hapi.ts';
import type { PeerMeasured } from './measured.ts';

export interface PeersBenchOptions {
  /** Patients of each server per round. */
  patients: number;
  rounds: number;
  /** Patients loaded at the same time. */
  inFlight: number;
  sample: string;
}

export interface PeersBenchResult {
  options: PeersBenchOptions;
  /** Of one patient. */
  resources: number;
  ours: PeerMeasured[];
  /** Empty where HAPI cannot run. */
  hapi: PeerMeasured[];
  /** Load of the machine before and after. */
  load: [number, number];
}

/** HAPI grows faster for longer: the JVM compiles what runs often. */
const WARM_UP = { ours: 20, hapi: 50 };

/**
 * Brings the same records into ours, by queries, and into HAPI's JPA server, by
 * transactions, in turns on one machine.
 */
export async function benchPeers(
  options: PeersBenchOptions,
  note: (line: string) => void,
): Promise<PeersBenchResult> {
  const { patients, rounds, inFlight, sample } = options;
  const missing = hapiMissing();
  if (missing !== undefined) note(`HAPI is left out: ${missing}.`);
  const load: [number, number] = [loadavg()[0] ?? 0, 0];
  const env = await startEnvironment();
  let hapi: Hapi | undefined;
  try {
    hapi = missing === undefined ? await startHapi(sample) : undefined;
    // Twice: the first query fetches what is cached later (capabilities).
    await recordSample(env, sample);
    const resources = await recordSample(env, sample);
    await ours(env, await preparePatients(env, sample, WARM_UP.ours), inFlight);
    await hapi?.load(WARM_UP.hapi, inFlight);

    const result: PeersBenchResult = {
      options,
      resources,
      ours: [],
      hapi: [],
      load,
    };
    for (let round = 1; round <= rounds; round++) {
      const own = await measureOurs(env, options, resources);
      result.ours.push(own);
      note(`round ${round}: ours ${describe(own)}`);
      if (hapi === undefined) continue;
      const theirs = await hapi.load(patients, inFlight);
      result.hapi.push(theirs);
      note(`round ${round}: HAPI ${describe(theirs)}`);
    }
    await hapi?.check();
    load[1] = loadavg()[0] ?? 0;
    return result;
  } finally {
    await hapi?.stop();
    await env.stop();
  }
}

async function measureOurs(
  env: Environment,
  { sample, patients, inFlight }: PeersBenchOptions,
  resources: number,
): Promise<PeerMeasured> {
  const people = await preparePatients(env, sample, patients);
  const temporalBefore = cpuSecondsOf(env.temporalPid);
  const { measured } = await ours(env, people, inFlight);
  const temporal = cpuSecondsOf(env.temporalPid) - temporalBefore;
  return {
    resourcesPerSecond: measured.queriesPerSecond * resources,
    cpuMs: {
      server: (measured.cpuSecondsPerQuery * 1000) / resources,
      postgres: (measured.postgresCpuSecondsPerQuery * 1000) / resources,
      temporal: (temporal * 1000) / (patients * resources),
    },
  };
}

function describe({ resourcesPerSecond, cpuMs }: PeerMeasured): string {
  const parts = Object.entries(cpuMs).map(
    ([part, ms]) => `${part} ${ms.toFixed(2)}`,
  );
  return `${Math.round(resourcesPerSecond)} resources/s; CPU in ms per resource: ${parts.join(', ')}`;
}
