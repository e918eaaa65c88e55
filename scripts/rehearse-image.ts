import { type SpawnSyncReturns, spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type ComposeService, ours } from '../test/support/compose-file.ts';

/**
 * Builds the Dockerfile where there is no container engine, and tries the image
 * (docs/deployment.md, "The image without an engine"):
 *
 *   npm run image:rehearse
 *
 * buildah builds it without a daemon, each step in a chroot. The base image
 * comes from Debian's packages and from Node.js and npm as npm's packages,
 * because no image registry is asked. Then each command of docker-compose.yml
 * is run in the image as its user, without configuration: it must say so, which
 * it can only if everything that it imports is there.
 */
const ROOT = fileURLToPath(new URL('../', import.meta.url));
const CACHE = join(ROOT, '.cache/image');
const AUTHORITIES = '/etc/ssl/certs/ca-certificates.crt';
const NPM = 'npm@11';
/**
 * What a command says that has no configuration, and what one says whose image
 * is incomplete.
 */
const ANSWER =
  /configuration is not valid|must be set|^Usage: |No stack is running|Say what to replay/m;
const BROKEN =
  /ERR_MODULE_NOT_FOUND|Cannot find (?:module|package)|ENOENT|EACCES/;

const dockerfile = readFileSync(join(ROOT, 'Dockerfile'), 'utf8');
const [, base = '', node = '', suite = ''] =
  /^ARG NODE_IMAGE=(node:(\d+)-(\w+)-slim)$/m.exec(dockerfile) ?? [];
const work = mkdtempSync(join(tmpdir(), 'image-'));
/** Its images and containers go with the folder of this run. */
const STORE = [
  '--root',
  join(work, 'store'),
  '--runroot',
  join(work, 'run'),
  '--storage-driver',
  'vfs',
];
try {
  requireTools();
  buildBase();
  const image = 'localhost/medical-data-exchange:rehearsal';
  must(
    buildah(
      'bud',
      '--network',
      'host',
      '--build-arg',
      `NODE_IMAGE=localhost/${base}`,
      '--tag',
      image,
      ROOT,
    ),
  );
  const container = must(read('from', '--pull-never', image)).stdout.trim();
  const failed = ours.filter(
    ([name, service]) => !answers(container, name, service),
  );
  const size = must(
    read('images', '--format', '{{.Size}}', image),
  ).stdout.trim();
  process.stdout.write(
    failed.length === 0
      ? `The image is built (${size} with this base), and its ${ours.length} commands run in it.\n`
      : `The image is built; ${failed.length} of its commands do not run in it.\n`,
  );
  process.exitCode = failed.length === 0 ? 0 : 1;
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : error}\n`);
  process.exitCode = 1;
} finally {
  rmSync(work, { recursive: true, force: true });
}

function requireTools(): void {
  const missing = ['buildah', 'mmdebstrap', 'npm'].filter(
    (tool) => spawnSync(tool, ['--version']).error,
  );
  if (missing.length > 0)
    throw new Error(
      `Not installed: ${missing.join(', ')}. On Debian, as root: apt-get install buildah mmdebstrap`,
    );
  if (base === '')
    throw new Error(
      'The Dockerfile names no base image as expected (ARG NODE_IMAGE=node:…)',
    );
}

/**
 * An image with what ours needs of the official one of Node.js: the program,
 * npm, and the user `node`.
 */
function buildBase(): void {
  mkdirSync(CACHE, { recursive: true });
  const debian = join(CACHE, `debian-${suite}.tar`);
  if (!existsSync(debian)) {
    must(
      run('mmdebstrap', ['--variant=minbase', suite, join(work, 'debian.tar')]),
    );
    renameSync(join(work, 'debian.tar'), debian);
  }
  const context = join(work, 'base');
  mkdirSync(context);
  cpSync(debian, join(context, 'debian.tar'));
  const packages = [`node-linux-${process.arch}@${node}`, NPM];
  for (const [index, name] of packages.entries()) {
    const packed = must(
      spawnSync('npm', ['pack', '--silent', name], {
        cwd: work,
        encoding: 'utf8',
      }),
    );
    mkdirSync(join(context, String(index)));
    must(
      run('tar', [
        '-xzf',
        join(work, packed.stdout.trim()),
        '-C',
        join(context, String(index)),
      ]),
    );
  }
  if (existsSync(AUTHORITIES))
    cpSync(AUTHORITIES, join(context, 'authorities.crt'));
  else writeFileSync(join(context, 'authorities.crt'), '');
  const steps = [
    'FROM scratch',
    'ADD debian.tar /',
    'COPY 0/package/bin/node /usr/local/bin/node',
    'COPY 1/package /usr/local/lib/node_modules/npm',
    // Those of this machine, in case its packages come through a proxy.
    `COPY authorities.crt ${AUTHORITIES}`,
    `ENV NODE_EXTRA_CA_CERTS=${AUTHORITIES}`,
    'RUN ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm && groupadd --gid 1000 node && useradd --uid 1000 --gid node --create-home node',
  ];
  writeFileSync(join(context, 'Dockerfile'), `${steps.join('\n')}\n`);
  must(
    buildah('bud', '--network', 'host', '--tag', `localhost/${base}`, context),
  );
}

/**
 * Whether a command of docker-compose.yml gets as far in the image as to ask
 * for its configuration.
 */
function answers(
  container: string,
  name: string,
  { entrypoint, command }: ComposeService,
): boolean {
  const words = [...(entrypoint ?? ['node']), ...(command ?? [])];
  const { stdout, stderr } = read(
    'run',
    '--network',
    'host',
    container,
    '--',
    ...words,
  );
  const text = `${stdout}\n${stderr}`;
  const isFine = ANSWER.test(text) && !BROKEN.test(text);
  process.stdout.write(`${isFine ? '✓' : '✗'} ${name}\n${isFine ? '' : text}`);
  return isFine;
}

function buildah(
  command: string,
  ...words: string[]
): SpawnSyncReturns<string> {
  return run('buildah', [...STORE, command, '--isolation', 'chroot', ...words]);
}

/** A command of buildah whose output is read. */
function read(command: string, ...words: string[]): SpawnSyncReturns<string> {
  const isolation = command === 'images' ? [] : ['--isolation', 'chroot'];
  return spawnSync('buildah', [...STORE, command, ...isolation, ...words], {
    encoding: 'utf8',
  });
}

function run(
  program: string,
  words: readonly string[],
): SpawnSyncReturns<string> {
  return spawnSync(program, words, {
    stdio: ['ignore', 'inherit', 'inherit'],
    encoding: 'utf8',
  });
}

function must(done: SpawnSyncReturns<string>): SpawnSyncReturns<string> {
  if (done.status !== 0)
    throw new Error(
      `A step failed (above)${done.stderr ? `: ${done.stderr.trim()}` : ''}`,
    );
  return done;
}
