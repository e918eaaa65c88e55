import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { request } from 'undici';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { parse } from 'yaml';
import { commandLineOf } from '../../src/lib/command-line-of.ts';
import { startObservers } from '../../tools/embedded/observers.ts';
import { ProcessGroup } from '../../tools/embedded/process-group.ts';

/** Serves at the port in its arguments, or in the configuration that they name, like the program that it stands for. */
const PROGRAM = `#!${process.execPath}
const { readFileSync } = require('node:fs');
const args = process.argv.slice(2);
const value = (name) => args.find((arg) => arg.startsWith(name + '='))?.slice(name.length + 1);
const ini = args.includes('server') ? readFileSync(value('--config'), 'utf8') : '';
const port = value('--web.listen-address')?.split(':')[1] ?? /http_port = (\\d+)/.exec(ini)[1];
if (process.env.API_KEY) process.exit(3);
require('node:http').createServer((request, response) => response.end(args.join(' '))).listen(Number(port), '127.0.0.1');
`;

let dataDir: string;
let bin: string;
let group: ProcessGroup;
let lines: string[];
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'observers-'));
  bin = join(dataDir, 'bin');
  await mkdir(bin);
  lines = [];
  group = new ProcessGroup({ log: (line) => void lines.push(line) });
});
afterEach(async () => {
  await group.stop();
  await rm(dataDir, { recursive: true, force: true });
});

async function install(name: string, text = PROGRAM): Promise<void> {
  await writeFile(join(bin, name), text);
  await chmod(join(bin, name), 0o755);
}

const start = () =>
  startObservers({
    group,
    dataDir,
    ports: { gateway: 24_001, worker: 24_002, workerBackground: 24_003 },
    log: (line) => void lines.push(line),
    searchPath: bin,
  });

test('without the programs the stack runs, and says what to install', async () => {
  expect(await start()).toEqual({});
  expect(lines.join('\n')).toMatch(/Prometheus is not on the PATH[\s\S]*Grafana is not on the PATH/);
});

test('both are started on loopback with our rules and dashboards, and end with the stack', async () => {
  await install('prometheus');
  await install('grafana');
  const { prometheusUrl = '', grafanaUrl = '' } = await start();
  const config = parse(await readFile(join(dataDir, 'observe/prometheus.yml'), 'utf8'));
  expect(config.scrape_configs.map(({ job_name }: { job_name: string }) => job_name)).toEqual([
    'gateway',
    'worker',
  ]);
  expect(JSON.stringify(config.scrape_configs)).toMatch(
    /127\.0\.0\.1:24001.*127\.0\.0\.1:24002.*127\.0\.0\.1:24003/,
  );
  expect(await readFile(config.rule_files[0], 'utf8')).toContain('ProcessDown');
  const provisioned = async (file: string) =>
    parse(await readFile(join(dataDir, 'observe/provisioning', file), 'utf8'));
  expect((await provisioned('datasources/prometheus.yaml')).datasources[0].url).toBe(prometheusUrl);
  const { path } = (await provisioned('dashboards/exchange.yaml')).providers[0].options;
  expect(await readFile(join(path, 'work.json'), 'utf8')).toContain('"panels"');
  expect(await (await request(grafanaUrl)).body.text()).toContain('--homepath=');

  const pids = Object.values(group.pids());
  expect(pids).toHaveLength(2);
  await group.stop();
  expect(await Promise.all(pids.map(commandLineOf))).toEqual([undefined, undefined]);
});

test('one that does not start is reported, and the stack goes on without it', async () => {
  await install('prometheus', '#!/bin/sh\nexit 1\n');
  expect(await start()).toEqual({ prometheusUrl: undefined });
  expect(lines.join('\n')).toContain('Prometheus did not start');
});

test('one that a killed stack left behind is stopped first', async () => {
  await install('prometheus');
  await start();
  const [left = 0] = Object.values(group.pids());
  const again = new ProcessGroup({ log: () => undefined });
  const killed = group;
  group = again;
  await start();
  const [running = 0] = Object.values(again.pids());
  expect(running).not.toBe(left);
  await killed.stop();
  expect(await commandLineOf(running)).toBeDefined();
});
