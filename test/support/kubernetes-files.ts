import { readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { Container } from 'kubernetes-types/core/v1.d.ts';
import { parse, parseAllDocuments } from 'yaml';
import { ROOT, readText } from './compose-file.ts';
import type { Kinds } from './kubernetes-kinds.ts';

const FOLDER = 'deploy/kubernetes';

interface Manifest {
  path: string;
  kind: string;
  name: string;
  document: Record<string, unknown>;
}

const files = readdirSync(join(ROOT, FOLDER), {
  recursive: true,
  encoding: 'utf8',
})
  .map((name) => `${FOLDER}/${name}`)
  .sort();

export const manifests: readonly Manifest[] = files
  .filter(
    (path) => path.endsWith('.yaml') && basename(path) !== 'kustomization.yaml',
  )
  .flatMap((path) =>
    parseAllDocuments(readText(path)).map((parsed) => {
      const document = parsed.toJS() as Manifest['document'] &
        Pick<Manifest, 'kind'>;
      return {
        path,
        kind: document.kind,
        name: (document.metadata as { name: string }).name,
        document,
      };
    }),
  );

export const kustomizations = files
  .filter((path) => basename(path) === 'kustomization.yaml')
  .map(
    (path) => [path, parse(readText(path)) as Record<string, unknown>] as const,
  );

export const ofKind = <K extends keyof Kinds>(kind: K): Kinds[K][] =>
  manifests
    .filter(
      (manifest) =>
        manifest.kind === kind && !manifest.path.endsWith('.patch.yaml'),
    )
    .map(({ document }) => document as Kinds[K]);

/** A Deployment or Job, with its only container. */
export const workloads = [...ofKind('Deployment'), ...ofKind('Job')].map(
  (workload) => {
    const pod = workload.spec?.template.spec;
    const [container] = pod?.containers ?? [];
    if (pod === undefined || container === undefined)
      throw new Error('a workload without a container');
    return {
      name: container.name,
      workload,
      pod,
      container,
      environment: environmentOf(container),
    };
  },
);

/**
 * The variables of a container: those of its groups (config/<group>.env), then
 * its own.
 */
function environmentOf({
  envFrom = [],
  env = [],
}: Container): Record<string, string> {
  const groups = envFrom.flatMap(({ configMapRef }) =>
    linesOf(readText(`${FOLDER}/config/${configMapRef?.name}.env`)),
  );
  return Object.fromEntries([
    ...groups,
    ...env.map(({ name, value = '' }) => [name, value]),
  ]);
}

/** The same in the installation of deploy/kubernetes/example. */
export function exampleEnvironmentOf(
  container: Container,
): Record<string, string> {
  const { configMapGenerator } = parse(
    readText(`${FOLDER}/example/values/kustomization.yaml`),
  ) as {
    configMapGenerator: { name: string; literals: string[] }[];
  };
  const groups = container.envFrom?.map(
    ({ configMapRef }) => configMapRef?.name,
  );
  const literals = configMapGenerator
    .filter(({ name }) => groups?.includes(name))
    .flatMap((one) => one.literals);
  return {
    ...environmentOf(container),
    ...Object.fromEntries(linesOf(literals.join('\n'))),
  };
}

function linesOf(text: string): [string, string][] {
  return [...text.matchAll(/^([A-Z0-9_]+)=(.*)$/gm)].map(
    ([, name = '', value = '']) => [name, value],
  );
}
