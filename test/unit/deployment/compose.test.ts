import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { SEARCH_ATTRIBUTES } from '../../../src/contract/temporal.ts';
import { DEMO_ACCOUNT_ID } from '../../../src/exchange/operations/admin/seed.ts';
import {
  BACKGROUND_QUEUES,
  INTERACTIVE_QUEUES,
  WORKER_QUEUES,
} from '../../../src/temporal/task-queues.ts';
import {
  type ComposeService,
  compose,
  entryOf,
  isVariable,
  ours,
  ROOT,
  readText,
  services,
} from '../../support/compose-file.ts';

/**
 * There is no container engine where this is written, so what the file names is
 * held against what there is.
 */
const { scripts } = JSON.parse(readText('package.json')) as {
  scripts: Record<string, string>;
};
const portOf = (name: string): string | undefined =>
  Object.entries(compose.services[name]?.environment ?? {}).find(
    ([variable]) => /_PORT$/.test(variable) && isVariable(variable),
  )?.[1];

// Most tests below hold for each service, whatever it names; a file that named
// nothing would pass them.
describe('docker-compose.yml names what these tests look for', () => {
  const all = services.map(([, service]) => service);
  test('services of our image, and others', () => {
    expect(ours.map(([name]) => name)).toEqual(
      expect.arrayContaining(['gateway', 'worker', 'receiver']),
    );
    expect(services.length).toBeGreaterThan(ours.length);
  });

  test.each([
    ['secrets', all.flatMap(({ secrets = [] }) => secrets)],
    ['secrets read through a variable', all.flatMap(secretsRead)],
    ['secrets read by a mounted script', all.flatMap(secretsScripted)],
    ['mounted files', all.flatMap(mountedFiles)],
    ['named volumes', all.flatMap(namedVolumes)],
    ['files that a service writes', all.flatMap(pathsWritten)],
    ['published ports', all.flatMap(({ ports = [] }) => ports)],
    ['probes', ours.flatMap(([, { healthcheck }]) => healthcheck ?? [])],
    ['addresses of other services', all.flatMap(addressesInside)],
    [
      'services to wait for until they are healthy',
      all.flatMap(healthyDependencies),
    ],
  ])('%s', (_, found: readonly unknown[]) => {
    expect(found.length).toBeGreaterThan(0);
  });
});

describe('what docker-compose.yml names is there', () => {
  test.each(ours)(
    '%s: the entry point, which is also an npm script',
    (_, service) => {
      const entry = entryOf(service) ?? 'none';
      expect(existsSync(join(ROOT, entry))).toBe(true);
      expect(
        Object.values(scripts).some((script) =>
          script.endsWith(`node ${entry}`),
        ),
      ).toBe(true);
    },
  );

  test.each(ours)(
    '%s: each variable is one of config.ts',
    (_, { environment = {} }) => {
      const names = Object.keys(environment).map((name) =>
        name.replace(/_FILE$/, ''),
      );
      expect(names.filter((name) => !isVariable(name))).toEqual([]);
    },
  );

  test.each(services)(
    '%s: each secret is mounted where it is read, and none besides',
    (_, service) => {
      const read = [...secretsRead(service), ...secretsScripted(service)];
      expect(new Set(service.secrets)).toEqual(new Set(read));
      for (const name of service.secrets ?? [])
        expect(compose.secrets[name]?.file).toBe(`./deploy/secrets/${name}`);
    },
  );

  test.each(services)(
    '%s: each mounted file, and each volume below a folder that the image has',
    (_, service) => {
      for (const file of mountedFiles(service))
        expect(existsSync(join(ROOT, file))).toBe(true);
      for (const [source, target] of namedVolumes(service)) {
        expect(compose.volumes).toHaveProperty(source);
        if (service.build !== undefined)
          expect(readText('Dockerfile')).toContain(` ${target}`);
      }
    },
  );

  test.each(ours)('%s: each file it writes lies in a volume', (_, service) => {
    const targets =
      service.volumes?.map((volume) => volume.split(':')[1] ?? '') ?? [];
    for (const path of pathsWritten(service))
      expect(targets.some((target) => path.startsWith(target))).toBe(true);
  });
});

describe('the addresses in docker-compose.yml fit together', () => {
  test.each(ours)(
    '%s: what is published and probed is what it listens on',
    (name, service) => {
      for (const port of service.ports ?? [])
        expect(port).toBe(`127.0.0.1:${portOf(name)}:${portOf(name)}`);
      const probed = service.healthcheck?.test.at(-1);
      if (probed !== undefined) expect(new URL(probed).port).toBe(portOf(name));
      if (probed !== undefined)
        expect(service.healthcheck?.test.slice(0, 3)).toEqual([
          'CMD',
          'node',
          'deploy/probe.mjs',
        ]);
    },
  );

  test('every published port is on loopback', () => {
    const published = services.flatMap(([, { ports = [] }]) => ports);
    expect(published.filter((port) => !port.startsWith('127.0.0.1:'))).toEqual(
      [],
    );
  });

  test.each(ours)(
    '%s: each address inside is a service at its port',
    (_, service) => {
      for (const { hostname, port } of addressesInside(service))
        expect(port).toBe(portOf(hostname));
    },
  );

  test('the public address is an alias of the gateway', () => {
    const { gateway } = compose.services;
    const { hostname, port } = new URL(
      gateway?.environment?.PUBLIC_BASE_URL ?? '',
    );
    expect(JSON.stringify(gateway?.networks)).toContain(hostname);
    expect(port).toBe(portOf('gateway'));
  });

  test('the UI asks the codec server, and the codec server answers the UI', () => {
    const [uiPort] =
      compose.services['temporal-ui']?.ports?.map(
        (port) => port.split(':')[1],
      ) ?? [];
    const codec = compose.services['codec-server'];
    expect(codec?.environment?.TEMPORAL_UI_URL).toContain(
      `http://127.0.0.1:${uiPort}`,
    );
    expect(compose.services['temporal-ui']?.environment?.CODEC_ORIGIN).toBe(
      `http://127.0.0.1:${portOf('codec-server')}`,
    );
  });

  test('each service waits for services that are there, healthy ones having a health check', () => {
    for (const [, service] of services) {
      for (const name of Object.keys(service.depends_on ?? {}))
        expect(compose.services).toHaveProperty(name);
      for (const name of healthyDependencies(service))
        expect(compose.services[name]?.healthcheck).toBeDefined();
    }
  });
});

describe('docker-compose.yml gives the system what the embedded stack has', () => {
  test('the namespace gets our search attributes', () => {
    const text = readText('deploy/temporal/setup-namespace.sh');
    const registered = /^attributes="(.*)"$/m
      .exec(text)?.[1]
      ?.split(' ')
      .map((pair) => pair.split('='));
    expect(Object.fromEntries(registered ?? [])).toEqual(SEARCH_ATTRIBUTES);
  });

  test('Temporal gets the same dynamic configuration', () => {
    const given = Object.entries(
      parse(readText('deploy/temporal/dynamic-config.yaml')) as Record<
        string,
        { value: unknown }[]
      >,
    ).map(([name, [setting]]) => `${name}=${setting?.value}`);
    const embedded = readText('tools/embedded/temporal-server.ts').matchAll(
      /'(matching\.[^']+)'/g,
    );
    expect(given.length).toBeGreaterThan(0);
    expect(given.sort()).toEqual(
      [...embedded].map(([, value]) => value).sort(),
    );
  });

  test('the orchestrator acts for the account that is seeded', () => {
    for (const name of ['worker', 'receiver', 'starter'])
      expect(compose.services[name]?.environment?.EXCHANGE_ACCOUNT_ID).toBe(
        DEMO_ACCOUNT_ID,
      );
  });

  test('.env.example names the queues', () => {
    expect(readText('.env.example')).toContain(WORKER_QUEUES.join(' '));
  });

  test('every queue has its worker: background work has one of its own, with less of the processors', () => {
    const { worker, 'worker-background': background } = compose.services;
    expect(worker?.environment?.WORKER_QUEUES).toContain(
      INTERACTIVE_QUEUES.join(' '),
    );
    expect(background?.environment?.WORKER_QUEUES).toBe(
      BACKGROUND_QUEUES.join(' '),
    );
    expect(background?.cpu_shares).toBeLessThan(1024);
    const others = ({
      WORKER_QUEUES: _,
      NODE_OPTIONS: __,
      ...environment
    }: Record<string, string> = {}) => environment;
    expect(others(background?.environment)).toEqual(
      others(worker?.environment),
    );
  });
});

describe('the containers are closed', () => {
  test.each(services)(
    '%s: read-only, without capabilities, not root',
    (_, service) => {
      expect(service.read_only).toBe(true);
      expect(service.cap_drop).toEqual(['ALL']);
      // Temporal's images have a user of their own.
      const isNamed = service.user !== undefined || service.build !== undefined;
      expect(isNamed || service.image.startsWith('temporalio/')).toBe(true);
    },
  );

  test.each(services)(
    '%s: a pinned image of no particular registry',
    (_, { image }) => {
      expect(image).toMatch(/^([a-z]+\/)?[a-z-]+:(local|\d+\.\d+[\w.-]*)$/);
    },
  );

  test.each(ours)(
    '%s: has longer to stop than it takes',
    (_, { stop_grace_period: period = '' }) => {
      const [, ms = ''] =
        /STOP_TIMEOUT_MS = ([\d_]+)/.exec(readText('src/lib/process.ts')) ?? [];
      expect(Number(/^(\d+)s$/.exec(period)?.[1])).toBeGreaterThan(
        Number(ms.replaceAll('_', '')) / 1000,
      );
    },
  );
});

function mountedFiles({ volumes = [] }: ComposeService): string[] {
  return volumes.flatMap((volume) => /^\.\/([^:]+):/.exec(volume)?.[1] ?? []);
}

/**
 * Volumes that the file declares, with the folder where the service has them.
 */
function namedVolumes({
  volumes = [],
}: ComposeService): [source: string, target: string][] {
  return volumes
    .filter((volume) => !volume.startsWith('.'))
    .map((volume) => volume.split(':'))
    .map(([source = '', target = '']) => [source, target]);
}

function secretsRead({ environment = {} }: ComposeService): string[] {
  return Object.entries(environment)
    .filter(([name]) => name.endsWith('_FILE'))
    .map(([, path]) => path.replace('/run/secrets/', ''));
}

function secretsScripted(service: ComposeService): string[] {
  return mountedFiles(service).flatMap((file) =>
    [...readText(file).matchAll(/\/run\/secrets\/([a-z-]+)/g)].map(
      ([, name = '']) => name,
    ),
  );
}

/** Files and folders that the environment names; secrets are only read. */
function pathsWritten({ environment = {} }: ComposeService): string[] {
  return Object.entries(environment)
    .filter(([name]) => !name.endsWith('_FILE'))
    .flatMap(([, value]) => /^(?:file:\/\/)?(\/\w.*)$/.exec(value)?.[1] ?? []);
}

/** Addresses of other services in the environment. */
function addressesInside({ environment = {} }: ComposeService): URL[] {
  return Object.values(environment)
    .flatMap((value) => value.split(/\s+/))
    .filter(
      (value) =>
        /^https?:\/\/[a-z-]+:\d+/.test(value) && !value.includes('//localhost'),
    )
    .map((value) => new URL(value));
}

function healthyDependencies({ depends_on = {} }: ComposeService): string[] {
  return Object.entries(depends_on).flatMap(([name, { condition }]) =>
    condition === 'service_healthy' ? [name] : [],
  );
}
