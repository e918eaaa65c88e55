import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import {
  parseWorkerQueues,
  WORKER_QUEUES,
} from '../../../src/temporal/task-queues.ts';
import {
  compose,
  entryOf,
  isVariable,
  ROOT,
  readText,
} from '../../support/compose-file.ts';
import {
  kustomizations,
  manifests,
  ofKind,
  workloads,
} from '../../support/kubernetes-files.ts';

const named = (name: string) =>
  workloads.filter((workload) => workload.name === name);
const workers = workloads.filter(({ name }) => name.startsWith('worker-'));
const namesOf = (all: { metadata?: { name?: string } }[]) =>
  all.map(({ metadata }) => metadata?.name).sort();

describe('deploy/kubernetes holds to the schemas of Kubernetes', () => {
  test('every field is known, of its type, and none is missing', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'kubernetes-'));
    const checked = manifests.filter(({ kind }) => kind !== 'ScaledObject');
    expect(checked.length).toBeGreaterThan(25);
    const typed = checked.map(({ path, kind, document }, index) => {
      const type = path.endsWith('.patch.yaml')
        ? `Patch<Kinds['${kind}']>`
        : `Kinds['${kind}']`;
      return `// ${path}\nexport const manifest${index}: ${type} = ${JSON.stringify(document)};`;
    });
    // What the compiler must refuse; if it does not, it complains about the
    // comment.
    const wrong = [
      {
        kind: 'Deployment',
        apiVersion: 'apps/v1',
        spec: { selector: {}, template: {}, replica: 2 },
      },
      {
        kind: 'Deployment',
        apiVersion: 'apps/v1',
        spec: { selector: {}, template: {}, replicas: '2' },
      },
      { kind: 'Deployment', apiVersion: 'apps/v1', spec: { selector: {} } },
      {
        kind: 'Deployment',
        apiVersion: 'apps/v1beta1',
        spec: { selector: {}, template: {} },
      },
    ].map(
      (document, index) =>
        `// @ts-expect-error\nexport const wrong${index}: Kinds['Deployment'] = ${JSON.stringify(document)};`,
    );
    const kinds = join(ROOT, 'test/support/kubernetes-kinds.ts');
    const head = `import type { Kinds, Patch } from '${kinds}';`;
    const strict =
      '--ignoreConfig --noEmit --strict --skipLibCheck --allowImportingTsExtensions'.split(
        ' ',
      );
    try {
      await writeFile(
        join(folder, 'manifests.ts'),
        [head, ...typed, ...wrong].join('\n'),
      );
      const check = promisify(execFile)(
        process.execPath,
        [
          join(ROOT, 'node_modules/typescript/bin/tsc'),
          ...strict,
          '--module',
          'nodenext',
          'manifests.ts',
        ],
        { cwd: folder },
      );
      expect(
        await check.catch(({ stdout }: { stdout: string }) => ({ stdout })),
      ).toMatchObject({
        stdout: '',
      });
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
});

describe('a process has in Kubernetes the environment that it has in docker-compose.yml', () => {
  const PAIRS = [
    ['gateway', ['gateway'], []],
    // There a worker serves all queues; here each group of queues has its own.
    ['worker', workers.map(({ name }) => name), []],
    // A file would be lost with its pod.
    ['receiver', ['receiver'], ['DATA_DIR']],
    ['codec-server', ['codec-server'], []],
    ['migrate', ['migrate'], []],
  ] as const;
  const ADDED = ['AWS_REGION', 'AWS_SHARED_CREDENTIALS_FILE'];
  /** Of an installation: empty here, and set by its own kustomization. */
  const OWN =
    /^(TEMPORAL_ADDRESS|PUBLIC_BASE_URL|BLOB_STORE|ORCHESTRATOR_FILES|AUDIT_HEADS|HIE_CLIENT_ID|HIE_TOKEN_URL|TEMPORAL_UI_URL|\w+(?<!EXCHANGE)_BASE_URL)$/;

  test.each(PAIRS)('%s', (service, names, left) => {
    const there = compose.services[service]?.environment ?? {};
    const here: Record<string, string> = Object.assign(
      {},
      ...names.flatMap((name) =>
        named(name).map(({ environment }) => environment),
      ),
    );
    const expected = Object.entries(there).filter(
      ([name]) => !left.some((one) => one === name),
    );
    expect(
      Object.keys(here)
        .filter((name) => !ADDED.includes(name))
        .sort(),
    ).toEqual(expected.map(([name]) => name).sort());
    for (const [name, value] of expected)
      if (name !== 'WORKER_QUEUES')
        expect([name, here[name]]).toEqual([name, OWN.test(name) ? '' : value]);
  });

  test('tools has that of the commands run by hand', () => {
    const [tools] = named('tools');
    for (const service of ['seed', 'admin', 'replay', 'deployment', 'starter'])
      for (const [name, value] of Object.entries(
        compose.services[service]?.environment ?? {},
      ))
        expect([name, tools?.environment[name]]).toEqual([
          name,
          OWN.test(name) ? '' : value,
        ]);
  });

  test.each(workloads.map((workload) => [workload.name, workload] as const))(
    '%s: each variable is one of config.ts, and each secret is mounted where it is read, and none besides',
    (_, { pod, environment }) => {
      const names = Object.keys(environment).filter(
        (name) => !ADDED.includes(name),
      );
      expect(
        names.filter((name) => !isVariable(name.replace(/_FILE$/, ''))),
      ).toEqual([]);
      const read = names
        .filter((name) => name.endsWith('_FILE'))
        .map((name) => environment[name]);
      const mounted =
        pod.volumes?.flatMap(({ projected }) => projected?.sources ?? []) ?? [];
      const items = mounted.flatMap(({ secret }) => secret?.items ?? []);
      expect(items.map(({ path }) => `/run/secrets/${path}`).sort()).toEqual(
        [...new Set(read)].sort(),
      );
      for (const { key } of items) expect(compose.secrets).toHaveProperty(key);
    },
  );

  test.each(['gateway', 'receiver', 'codec-server', 'migrate', 'worker'])(
    '%s runs the same program',
    (name) => {
      const service = compose.services[name];
      const alike = workloads.filter(
        (workload) =>
          workload.name === name || workload.name.startsWith(`${name}-`),
      );
      expect(alike.length).toBeGreaterThan(0);
      for (const { container } of alike) {
        expect(container.args).toEqual(service?.command);
        expect(container.args).toContain(entryOf(service ?? { image: '' }));
      }
    },
  );
});

describe('the workers', () => {
  const queuesOf = (name: string) =>
    workers
      .filter((worker) => worker.name === name)
      .flatMap(({ environment }) =>
        parseWorkerQueues(environment.WORKER_QUEUES ?? ''),
      );

  test('serve every task queue, each in one group', () => {
    expect(workers.flatMap(({ name }) => queuesOf(name)).sort()).toEqual(
      [...WORKER_QUEUES].sort(),
    );
  });

  test('are scaled by the backlog of the queues that they serve', () => {
    const scaled = manifests.filter(({ kind }) => kind === 'ScaledObject');
    expect(scaled.map(({ name }) => name).sort()).toEqual(
      workers.map(({ name }) => name).sort(),
    );
    for (const { name, document } of scaled) {
      const { scaleTargetRef, triggers } = document.spec as {
        scaleTargetRef: { name: string };
        triggers: { type: string; metadata: Record<string, string> }[];
      };
      expect(scaleTargetRef.name).toBe(name);
      const temporal = triggers
        .filter(({ type }) => type === 'temporal')
        .map(({ metadata }) => metadata);
      expect(temporal.map(({ taskQueue }) => taskQueue).sort()).toEqual(
        queuesOf(name).sort(),
      );
      const [worker] = named(name);
      for (const { endpointFromEnv = '', namespaceFromEnv = '' } of temporal)
        expect(worker?.environment).toMatchObject({
          [endpointFromEnv]: '',
          [namespaceFromEnv]: 'default',
        });
    }
  });

  test('have one autoscaler: with the backlog, those by CPU are removed', () => {
    const [, backlog] =
      kustomizations.find(([path]) => path.includes('backlog')) ?? [];
    const removed = ((backlog?.patches ?? []) as { patch: string }[]).map(
      ({ patch }) => parse(patch),
    );
    expect(namesOf(removed)).toEqual(workers.map(({ name }) => name).sort());
    for (const patch of removed)
      expect(patch).toMatchObject({
        $patch: 'delete',
        kind: 'HorizontalPodAutoscaler',
      });
  });
});

describe('the pods', () => {
  const each = workloads.map((workload) => [workload.name, workload] as const);

  test.each(each)(
    '%s: not root, read-only, without capabilities and without access to Kubernetes',
    (_, one) => {
      expect(one.pod).toMatchObject({
        automountServiceAccountToken: false,
        // The variables of service links are named like ours (GATEWAY_PORT).
        enableServiceLinks: false,
        shareProcessNamespace: true,
        securityContext: {
          runAsNonRoot: true,
          runAsUser: 1000,
          seccompProfile: { type: 'RuntimeDefault' },
        },
      });
      expect(one.container.securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      });
      expect(one.container.volumeMounts).toContainEqual({
        name: 'tmp',
        mountPath: '/tmp',
      });
    },
  );

  test.each(each)(
    '%s: has longer to stop than it takes',
    (_, { pod, container }) => {
      const [, ms = ''] =
        /STOP_TIMEOUT_MS = ([\d_]+)/.exec(readText('src/lib/process.ts')) ?? [];
      const before = container.lifecycle?.preStop?.sleep?.seconds ?? 0;
      expect(pod.terminationGracePeriodSeconds).toBeGreaterThan(
        before + Number(ms.replaceAll('_', '')) / 1000,
      );
    },
  );

  test.each(each.filter(([name]) => name !== 'migrate' && name !== 'tools'))(
    '%s: is probed at a port that it has, the one that the process listens on',
    (_, { container, environment }) => {
      const ports = new Map(
        container.ports?.map(({ name, containerPort }) => [
          name,
          containerPort,
        ]),
      );
      const [, own] =
        Object.entries(environment).find(([name]) =>
          /^(GATEWAY|RECEIVER|WORKER|CODEC)_PORT$/.test(name),
        ) ?? [];
      for (const probe of [
        container.startupProbe,
        container.livenessProbe,
        container.readinessProbe,
      ])
        expect(
          String(ports.get(String((probe?.httpGet ?? probe?.tcpSocket)?.port))),
        ).toBe(own);
    },
  );

  test('every container says how much memory it needs and may use', () => {
    for (const { workload } of workloads)
      for (const { name, resources } of workload.spec?.template.spec
        ?.containers ?? [])
        expect(
          [resources?.requests?.memory, resources?.limits?.memory],
          name,
        ).toEqual([
          expect.stringMatching(/^\d+[MG]i$/),
          expect.stringMatching(/^\d+[MG]i$/),
        ]);
  });

  test('what several pods do survives a disruption and is scaled', () => {
    const scaled = ofKind('HorizontalPodAutoscaler');
    expect(namesOf(scaled)).toEqual(
      [...workers.map(({ name }) => name), 'gateway'].sort(),
    );
    expect(namesOf(ofKind('PodDisruptionBudget'))).toEqual(
      [...namesOf(scaled), 'receiver'].sort(),
    );
    for (const { metadata, spec } of scaled)
      expect(spec?.scaleTargetRef.name).toBe(metadata?.name);
  });

  test('no network policy opens what no pod needs, and every need has its policy', () => {
    const needs = workloads.flatMap(({ workload }) =>
      Object.keys(workload.spec?.template.metadata?.labels ?? {}).filter(
        (label) => label.startsWith('needs/'),
      ),
    );
    const policies = ofKind('NetworkPolicy').map(({ spec }) =>
      Object.keys(spec?.podSelector?.matchLabels ?? {}),
    );
    const opened = policies
      .flat()
      .filter((label) => label.startsWith('needs/'));
    expect(opened.sort()).toEqual([...new Set(needs)].sort());
    expect(namesOf(ofKind('NetworkPolicy'))).toContain('closed');
  });
});

test.each(kustomizations)(
  '%s: names files and folders that are there',
  (path, kustomization) => {
    const { resources = [], components = [] } = kustomization as {
      resources?: string[];
      components?: string[];
    };
    for (const name of [...resources, ...components]) {
      const target = join(path, '..', name);
      const file = target.endsWith('.yaml')
        ? target
        : `${target}/kustomization.yaml`;
      expect([
        ...manifests.map((one) => one.path),
        ...kustomizations.map(([one]) => one),
      ]).toContain(file);
    }
  },
);
