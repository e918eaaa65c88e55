import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { systemEnvironment } from '../../src/config.ts';

const ROOT = new URL('../../', import.meta.url);

/**
 * Runs an entry point without any configuration, outside the repository so that
 * no `.env` is found.
 */
async function run(entry: string, ...args: string[]) {
  const file = fileURLToPath(new URL(entry, ROOT));
  const child = spawn(process.execPath, [file, ...args], {
    cwd: tmpdir(),
    env: systemEnvironment(),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk) => {
      output += chunk;
    });
  const [code] = await once(child, 'close');
  return { code, output };
}

describe('an entry point', () => {
  test.each([
    ['src/gateway.ts', 'DATABASE_URL'],
    ['src/worker.ts', 'TEMPORAL_ADDRESS'],
    ['src/receiver.ts', 'ID_HMAC_KEY'],
    ['tools/simulator.ts', 'HIE_BEARER_TOKEN'],
    ['src/codec-server.ts', 'DATA_KEYS'],
    ['src/migrate.ts', 'DATABASE_URL'],
    ['src/seed.ts', 'DATABASE_URL'],
  ])(
    '%s without a configuration names what is missing, without a stack, and ends with 2',
    async (entry, name) => {
      const { code, output } = await run(entry);
      expect(output).toContain(
        'The configuration is not valid; set these environment variables:',
      );
      expect(output).toContain(name);
      expect(output).not.toMatch(/\n\s+at /);
      expect(code).toBe(2);
    },
  );

  test.each([
    ['tools/embedded/main.ts', '--obsrve'],
    ['tools/cluster/main.ts', 'rol'],
    ['src/starter/main.ts', 'nonsense'],
    ['tools/demo/main.ts', '--nonsense'],
    ['tools/backup.ts', 'nonsense'],
    ['src/deployment.ts', 'nonsense'],
    ['src/replay.ts', '--nonsense'],
    ['src/make-secrets.ts', '--nonsense'],
    ['bench/main.ts', 'nonsense'],
  ])(
    '%s does not pass over the unknown word %s: it says so, does nothing, and ends with 2',
    async (entry, word) => {
      const { code, output } = await run(entry, word);
      expect(output).not.toBe('');
      expect(output).not.toMatch(/\n\s+at /);
      expect(code).toBe(2);
    },
  );
});
