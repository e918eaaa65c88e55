import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { request } from 'undici';
import type { Attack } from './attack.ts';

const OTHERS = 0o077;

async function argumentsOfProcesses(): Promise<string[]> {
  const pids = (await readdir('/proc').catch(() => [])).filter((name) =>
    /^\d+$/.test(name),
  );
  return Promise.all(
    pids.map((pid) => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')),
  );
}

async function statusOf(
  url: string | undefined,
  method: 'GET' | 'POST' = 'GET',
): Promise<number | undefined> {
  if (url === undefined) return undefined;
  const answer = await request(url, { method });
  await answer.body.dump();
  return answer.statusCode;
}

/**
 * Another user of the machine reads the arguments of all processes, files that
 * are open to all, and every port on loopback.
 */
export const localUser: Attack = {
  name: 'Another user of the machine: arguments, files, the UI, the codec, the simulator',
  async run({ stack: { dataDir, connection, secrets } }) {
    const { dataKeys, ...others } = secrets;
    const password = new URL(connection.databaseUrl).password;
    const all = [
      ...Object.values(others),
      dataKeys.split(':')[1] ?? dataKeys,
      password,
    ];
    const lines = await argumentsOfProcesses();
    const shown = all.filter((secret) =>
      lines.some((line) => line.includes(secret)),
    );
    const names = await readdir(dataDir);
    const modes = await Promise.all(
      names.map(
        async (name) => (await stat(join(dataDir, name))).mode & OTHERS,
      ),
    );
    const open = names.filter((_, index) => modes[index] !== 0);
    const closed = {
      'the UI': await statusOf(connection.temporalUiUrl),
      'the codec': await statusOf(
        connection.codecUrl && `${connection.codecUrl}/decode`,
        'POST',
      ),
      'the simulator': await statusOf(`${connection.simulatorUrl}/admin/rules`),
    };
    const statuses = Object.entries(closed).map(
      ([what, status]) => `${what} ${status}`,
    );
    return {
      seen: `${shown.length} of ${all.length} secrets in arguments, open files: ${open.join(', ') || 'none'}; ${statuses.join(', ')}`,
      holds:
        shown.length === 0 &&
        open.length === 0 &&
        Object.values(closed).every((status) => status === 401),
    };
  },
};
