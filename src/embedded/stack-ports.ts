import { join } from 'node:path';
import { z } from 'zod';
import { freePort, isPortFree } from '../lib/free-port.ts';
import { readJsonFile, writeJsonFile } from './json-file.ts';

export const PORT_NAMES = [
  'postgres',
  'temporal',
  'temporalUi',
  // Temporal's own web server, which asks for no login; `temporalUi` is the operator's way in.
  'temporalWeb',
  'simulator',
  'gateway',
  'receiver',
  'worker',
] as const;
export type PortName = (typeof PORT_NAMES)[number];
export type StackPorts = Readonly<Record<PortName, number>>;

// Another version may have named further ports.
const storedSchema = z.record(z.string(), z.number().int());

/**
 * The port of each part: the wanted one, else that of the last run on this folder (webhook addresses and callbacks
 * under way refer to it), else a free one. Throws when a wanted port (0 and absent want none) is taken.
 */
export async function ensurePorts(
  dataDir: string,
  wanted: Partial<Record<PortName, number>> = {},
): Promise<StackPorts> {
  const path = join(dataDir, 'ports.json');
  const stored = (await readJsonFile(path, storedSchema).catch(() => undefined)) ?? {};
  const ports = new Map<PortName, number>();
  for (const name of PORT_NAMES) {
    const wish = wanted[name];
    if (wish !== undefined && wish !== 0) {
      if (!(await isPortFree(wish))) throw new Error(`Port ${wish}, wanted for ${name}, is taken.`);
      ports.set(name, wish);
      continue;
    }
    let port = await freePort(stored[name]);
    while ([...ports.values()].includes(port)) port = await freePort();
    ports.set(name, port);
  }
  const result = Object.fromEntries(ports) as StackPorts;
  await writeJsonFile(path, result);
  return result;
}
