import { constants } from 'node:fs';
import { access, mkdir, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { request } from 'undici';
import { systemEnvironment } from '../../src/config.ts';
import { freePort } from '../../src/lib/free-port.ts';
import { startChild, stopOrphan } from './child-process.ts';
import type { ProcessGroup } from './process-group.ts';
import { type RunningPart, STOP_STEPS } from './running-part.ts';
import type { StackPorts } from './stack-ports.ts';

/** Addresses of what `npm start -- --observe` started. */
export interface Observers {
  prometheusUrl?: string;
  grafanaUrl?: string;
}

interface ObserverContext {
  group: ProcessGroup;
  dataDir: string;
  ports: Pick<StackPorts, 'gateway' | 'worker' | 'workerBackground'>;
  log(line: string): void;
  /** Default: PATH. */
  searchPath?: string;
}

const OBSERVABILITY = fileURLToPath(new URL('../../deploy/observability/', import.meta.url));
const READY_TIMEOUT_MS = 60_000;
const POLL_MS = 200;

/**
 * Starts Prometheus and Grafana with the rules and dashboards of deploy/observability, if they are on the PATH, on loopback and
 * with their data in the data folder. The stack does not depend on them: what is missing or does not start is only logged.
 */
export async function startObservers(context: ObserverContext): Promise<Observers> {
  const { log, searchPath = systemEnvironment().PATH ?? '' } = context;
  const [prometheus, grafana] = await Promise.all([
    findProgram(['prometheus'], searchPath),
    findProgram(['grafana', 'grafana-server'], searchPath),
  ]);
  if (prometheus === undefined)
    log(
      '--observe: Prometheus is not on the PATH. Install the package "prometheus" (apt, brew), and start again.',
    );
  if (grafana === undefined)
    log(
      '--observe: Grafana is not on the PATH. Install it as its documentation says (brew: "grafana"), and start again.',
    );
  if (prometheus === undefined) return {};
  const prometheusUrl = await startPrometheus(prometheus, context);
  if (grafana === undefined || prometheusUrl === undefined) return { prometheusUrl };
  return { prometheusUrl, grafanaUrl: await startGrafana(grafana, prometheusUrl, context) };
}

async function startPrometheus(file: string, context: ObserverContext): Promise<string | undefined> {
  const folder = join(context.dataDir, 'observe');
  const config = join(folder, 'prometheus.yml');
  const template = await readFile(join(OBSERVABILITY, 'prometheus.yml'), 'utf8');
  const { gateway, worker, workerBackground } = context.ports;
  await write(
    config,
    template
      .replaceAll('gateway:8080', `127.0.0.1:${gateway}`)
      .replaceAll('worker:8082', `127.0.0.1:${worker}`)
      .replaceAll('worker-background:8082', `127.0.0.1:${workerBackground}`)
      .replaceAll('alerts.yml', join(OBSERVABILITY, 'alerts.yml'))
      .replaceAll('30s', '10s'),
  );
  return startObserver('Prometheus', context, {
    file,
    port: await freePort(9090),
    ready: '/-/ready',
    argsFor: (port) => [
      `--config.file=${config}`,
      `--storage.tsdb.path=${join(folder, 'prometheus')}`,
      '--storage.tsdb.retention.time=15d',
      `--web.listen-address=127.0.0.1:${port}`,
    ],
  });
}

/** Without a login, for viewing only: what it shows is open on the gateway's `/metrics` as well. */
async function startGrafana(
  file: string,
  prometheusUrl: string,
  context: ObserverContext,
): Promise<string | undefined> {
  const folder = join(context.dataDir, 'observe');
  const config = join(folder, 'grafana.ini');
  const provisioning = join(folder, 'provisioning');
  const port = await freePort(3000);
  await write(
    config,
    [
      '[paths]',
      `data = ${join(folder, 'grafana')}`,
      `logs = ${join(folder, 'grafana')}`,
      `provisioning = ${provisioning}`,
      '[server]',
      'http_addr = 127.0.0.1',
      `http_port = ${port}`,
      '[auth.anonymous]',
      'enabled = true',
      'org_role = Viewer',
      '[security]',
      'disable_initial_admin_creation = true',
      '[analytics]',
      'reporting_enabled = false',
      'check_for_updates = false',
      'check_for_plugin_updates = false',
      '',
    ].join('\n'),
  );
  // YAML is a superset of JSON.
  await write(
    join(provisioning, 'datasources', 'prometheus.yaml'),
    JSON.stringify({
      apiVersion: 1,
      datasources: [{ name: 'Prometheus', type: 'prometheus', url: prometheusUrl, isDefault: true }],
    }),
  );
  const path = join(OBSERVABILITY, 'dashboards');
  await write(
    join(provisioning, 'dashboards', 'exchange.yaml'),
    JSON.stringify({ apiVersion: 1, providers: [{ name: 'exchange', type: 'file', options: { path } }] }),
  );
  const home = await grafanaHome(file);
  return startObserver('Grafana', context, {
    file,
    port,
    ready: '/api/health',
    argsFor: () => [
      ...(file.endsWith('-server') ? [] : ['server']),
      `--homepath=${home}`,
      `--config=${config}`,
    ],
  });
}

/** The folder with Grafana's own defaults: beside its program, or where packages put it. */
async function grafanaHome(file: string): Promise<string> {
  const beside = dirname(dirname(await realpath(file)));
  for (const home of [beside, join(beside, 'share', 'grafana')])
    if (await isThere(join(home, 'conf', 'defaults.ini'))) return home;
  return '/usr/share/grafana';
}

interface ObserverProgram {
  file: string;
  port: number;
  /** Path that answers 200 as soon as it serves. */
  ready: string;
  argsFor(port: number): string[];
}

async function startObserver(
  name: string,
  { group, dataDir, log }: ObserverContext,
  { file, port, ready, argsFor }: ObserverProgram,
): Promise<string | undefined> {
  const url = `http://127.0.0.1:${port}`;
  const logFile = join(dataDir, 'logs', `${name.toLowerCase()}.log`);
  const pidFile = join(dataDir, 'observe', `${name.toLowerCase()}.pid`);
  await stopLeftOver(pidFile, dataDir);
  const start = async (signal: AbortSignal): Promise<RunningPart> => {
    const child = await startChild({ file, args: argsFor(port), logFile, stopSteps: STOP_STEPS });
    await writeFile(pidFile, `${child.pid}\n`, { mode: 0o600 });
    if (await serves(`${url}${ready}`, child.exited, signal)) return child;
    await child.stop();
    throw new Error(`it does not serve (log: ${logFile})`);
  };
  try {
    await group.start({ name, start });
    return url;
  } catch (error) {
    log(`--observe: ${name} did not start: ${error instanceof Error ? error.message : String(error)}`);
    return undefined;
  }
}

async function serves(url: string, exited: Promise<unknown>, signal: AbortSignal): Promise<boolean> {
  let hasEnded = false;
  void exited.then(() => {
    hasEnded = true;
  });
  const until = Date.now() + READY_TIMEOUT_MS;
  while (!hasEnded && !signal.aborted && Date.now() < until) {
    const answer = await request(url).catch(() => undefined);
    await answer?.body.dump().catch(() => undefined);
    if (answer?.statusCode === 200) return true;
    await sleep(POLL_MS);
  }
  return false;
}

/** Stops a process that its command line shows to be ours: it names files in the data folder. */
async function stopLeftOver(pidFile: string, dataDir: string): Promise<void> {
  const pid = Number(await readFile(pidFile, 'utf8').catch(() => ''));
  if (pid > 0) await stopOrphan(pid, [join(dataDir, 'observe')], STOP_STEPS);
  await rm(pidFile, { force: true });
}

async function findProgram(names: readonly string[], searchPath: string): Promise<string | undefined> {
  for (const folder of searchPath.split(delimiter).filter(Boolean))
    for (const name of names)
      if (await isThere(join(folder, name), constants.X_OK)) return join(folder, name);
  return undefined;
}

const isThere = (path: string, mode = constants.R_OK): Promise<boolean> =>
  access(path, mode).then(
    () => true,
    () => false,
  );

async function write(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  await writeFile(path, text, { mode: 0o600 });
}
