import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemEnvironment } from '../../src/config.ts';
import { cloudServices } from '../support/compose-cloud.ts';
import {
  type ComposeService,
  compose,
  entryOf,
  ours,
  ROOT,
} from '../support/compose-file.ts';
import {
  exampleEnvironmentOf,
  workloads,
} from '../support/kubernetes-files.ts';

/** With docker-compose.cloud.yml; credentials of Temporal are empty files. */
const withCloud = cloudServices
  .filter(([name]) => name === 'worker' || name === 'temporal-setup')
  .map(
    ([name, service]) =>
      [`${name} with docker-compose.cloud.yml`, service] as const,
  );

/**
 * Every process of docker-compose.yml is started with its very environment and
 * freshly made secrets, only nobody answers at the addresses: it must get past
 * its configuration, to being ready or to not reaching the others.
 */
describe('the configuration in docker-compose.yml is complete', () => {
  let folder: string;
  const running: ChildProcess[] = [];

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'deployment-'));
    await run(['src/make-secrets.ts', join(folder, 'secrets')], {});
    for (const name of [
      'database-url',
      'owner-database-url',
      'admin-database-url',
    ]) {
      await rm(join(folder, 'secrets', name));
      await writeFile(
        join(folder, 'secrets', name),
        'postgres://exchange:p@127.0.0.1:1/exchange',
      );
    }
  });
  afterAll(async () => {
    for (const child of running) child.kill('SIGKILL');
    await rm(folder, { recursive: true, force: true });
  });

  test.concurrent.each([...ours, ...withCloud])('%s', async (_, service) => {
    const output = await run(words(service), environmentOf(service, folder));
    expect(output).toMatch(
      /is ready|listens|could not start|crashed|could not be reached|cannot be reached/,
    );
    expect(output).not.toMatch(
      /configuration is not valid|must be set|Set EXCHANGE|EACCES|ENOENT/,
    );
  });

  // The example's values fit these secrets. Buckets are checked at the start,
  // so folders stand for them.
  test.concurrent.each(['gateway', 'worker-exchange', 'worker-orchestrator'])(
    '%s of deploy/kubernetes',
    async (name) => {
      const container = workloads.find((workload) => workload.name === name)
        ?.container ?? { name };
      const { AWS_SHARED_CREDENTIALS_FILE: _, ...values } =
        exampleEnvironmentOf(container);
      const environment = Object.fromEntries(
        Object.entries(values).map(([key, value]) => [
          key,
          value.replace(/^s3:.*/, 'file:///var/lib/exchange'),
        ]),
      );
      const output = await run(
        container.args?.filter((word) => word.startsWith('src/')) ?? [],
        environmentOf({ image: '', environment }, folder),
      );
      expect(output).toMatch(
        /is ready|could not start|could not be reached|cannot be reached/,
      );
      expect(output).not.toMatch(
        /configuration is not valid|must be set|Set EXCHANGE|EACCES|ENOENT/,
      );
    },
  );

  test('and a missing variable would have been noticed', async () => {
    const { gateway } = compose.services;
    if (gateway === undefined) throw new Error('there is no gateway');
    const { DATA_KEYS_FILE: _, ...rest } = environmentOf(gateway, folder);
    expect(await run(words(gateway), rest)).toMatch(
      /set these environment variables:\n {2}DATA_KEYS: is missing/,
    );
  });

  /** All that it says until it is ready or ends. */
  function run(
    args: readonly string[],
    env: Record<string, string>,
  ): Promise<string> {
    const child = spawn(process.execPath, [...args], {
      cwd: ROOT,
      env: { ...systemEnvironment(), ...env },
    });
    running.push(child);
    return new Promise((resolve) => {
      let output = '';
      const hear = (chunk: Buffer) => {
        output += chunk.toString();
        if (/is ready|listens/.test(output)) child.kill('SIGKILL');
      };
      child.stdout.on('data', hear);
      child.stderr.on('data', hear);
      child.once('close', () => resolve(output));
    });
  }
});

function words(service: ComposeService): string[] {
  const entry = entryOf(service) ?? '';
  const all = [...(service.entrypoint ?? []), ...(service.command ?? [])];
  if (entry !== 'src/starter/main.ts') return all.slice(all.indexOf(entry));
  return [
    entry,
    'onboard',
    '--base-url',
    'http://127.0.0.1:1',
    '--sample',
    'keith-kiehn',
  ];
}

function environmentOf(
  { environment = {} }: ComposeService,
  folder: string,
): Record<string, string> {
  const here = Object.entries(environment).map(([name, value]) => {
    if (name === 'TEMPORAL_ADDRESS' || name === 'WORKER_TEMPORAL_METRICS')
      return [name, '127.0.0.1:1'];
    if (name.endsWith('_HOST')) return [name, '127.0.0.1'];
    if (name.endsWith('_PORT')) return [name, '0'];
    return [
      name,
      value.replace('/run', folder).replace('/var/lib/exchange', folder),
    ];
  });
  return Object.fromEntries(here);
}
