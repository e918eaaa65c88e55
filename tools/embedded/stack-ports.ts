import { join } from 'node:path';
import { z } from 'zod';
import { freePort, isPortFree } from '../../src/lib/free-port.ts';
import {
  readJsonFile,
  writeJsonFile,
} from '../../src/local-stack/json-file.ts';

export const PORT_NAMES = [
  'postgres',
  'temporal',
  'temporalUi',
  // Temporal's own web server, which has no login; `temporalUi` is the login in
  // front of it.
  'temporalWeb',
  'simulator',
  'simulatorSmtp',
  'simulatorImap',
  'gateway',
  'receiver',
  'worker',
  'workerBackground',
  // For gateways of networks (mutual TLS).
  'ihe',
] as const;
export type PortName = (typeof PORT_NAMES)[number];

/** The variables that choose a port; the others cannot be chosen. */
const VARIABLES: Partial<Record<PortName, string>> = {
  temporalUi: 'TEMPORAL_UI_PORT',
  simulator: 'SIMULATOR_PORT',
  gateway: 'GATEWAY_PORT',
  receiver: 'RECEIVER_PORT',
  worker: 'WORKER_PORT',
};

export type StackPorts = Readonly<Record<PortName, number>>;

// Another version may have stored further ports.
const storedSchema = z.record(z.string(), z.number().int());

/**
 * Chooses the port of each part: the required one, else that of the last run on
 * this folder (stored webhook addresses and pending callbacks refer to it),
 * else a free one. Throws when a required port is taken; 0 and absent require
 * none.
 */
export async function ensurePorts<const N extends string = PortName>(
  dataDir: string,
  wanted: Partial<Record<PortName, number>> = {},
  names: readonly (N | PortName)[] = PORT_NAMES,
): Promise<Readonly<Record<N | PortName, number>>> {
  const path = join(dataDir, 'ports.json');
  const stored =
    (await readJsonFile(path, storedSchema).catch(() => undefined)) ?? {};
  const ports = new Map<string, number>();
  for (const name of names) {
    const wish = wanted[name as PortName];
    if (wish !== undefined && wish !== 0) {
      if (!(await isPortFree(wish)))
        throw new Error(
          `Port ${wish} for ${name} is in use by another process. Stop that process, or choose another port with ${VARIABLES[name as PortName] ?? 'another data folder'}.`,
        );
      ports.set(name, wish);
      continue;
    }
    let port = await freePort(stored[name]);
    while ([...ports.values()].includes(port)) port = await freePort();
    ports.set(name, port);
  }
  const result = Object.fromEntries(ports) as Record<N | PortName, number>;
  await writeJsonFile(path, result);
  return result;
}
