import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { describe, expect, test } from 'vitest';
import { askUrl } from '../support/simulator.ts';

const credentials = {
  HIE_CLIENT_ID: 'exchange',
  HIE_CLIENT_SECRET: 'a-secret-of-the-test',
  PHARMACY_BEARER_TOKEN: 'pharmacy-token',
  LAB_BEARER_TOKEN: 'lab-token',
  SIMULATOR_ADMIN_TOKEN: 'admin-token-of-the-test',
};

function start(environment: Record<string, string>) {
  const { PATH = '' } = process.env;
  const args = ['tools/simulator.ts'];
  return spawn(process.execPath, args, {
    env: { PATH, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

describe('the simulator as a process', () => {
  test('prints where it listens, and ends on SIGTERM', async () => {
    const child = start(credentials);
    const [line] = await once(createInterface(child.stdout), 'line');
    const { url } = JSON.parse(line);
    expect((await askUrl(`${url}/health`)).json).toEqual({ status: 'ok' });
    child.kill('SIGTERM');
    expect((await once(child, 'exit'))[0]).toBe(0);
  });

  test('refuses to start without credentials for a source, and names what is missing', async () => {
    const child = start({
      ...credentials,
      LAB_BEARER_TOKEN: '',
      HIE_CLIENT_SECRET: '',
    });
    let errors = '';
    child.stderr.on('data', (chunk) => {
      errors += chunk;
    });
    expect((await once(child, 'close'))[0]).toBe(2);
    expect(errors.trim().split('\n')).toEqual([
      'The configuration is not valid; set these environment variables:',
      '  HIE_BEARER_TOKEN, or HIE_CLIENT_ID and HIE_CLIENT_SECRET: are missing',
      '  LAB_BEARER_TOKEN, or LAB_CLIENT_ID and LAB_CLIENT_SECRET: are missing',
    ]);
  });
});
