import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import type { X509Certificate } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../../src/lib/free-port.ts';
import { makeTestFolder } from '../support/test-folder.ts';

/** Certificates by the names under which they are published. */
export type Published = Record<string, X509Certificate[]>;

/** A program of this machine, in the folders of Debian's packages. */
const findProgram = (name: string): string | undefined =>
  ['/usr/sbin', '/usr/bin', '/usr/local/sbin', '/usr/lib/openldap']
    .map((folder) => join(folder, name))
    .find(existsSync);

/** Why nsd and slapd cannot run here; undefined if they can. */
export function publishersMissing(): string | undefined {
  const missing = ['nsd', 'slapd', 'slapadd'].filter(
    (name) => findProgram(name) === undefined,
  );

  return missing.length === 0
    ? undefined
    : `${missing.join(', ')} missing (Debian: nsd, slapd)`;
}

export interface Publisher extends AsyncDisposable {
  port: number;
}

/**
 * nsd as the name server of the zone `example`.
 *
 * @param ldap servers of domains, as SRV records of `localhost`
 */
export async function startNsd(
  certificates: Published,
  ldap: Record<string, number>,
): Promise<Publisher> {
  const folder = await makeTestFolder();
  const port = await freePort();
  const zone = [
    '$TTL 60',
    '@ IN SOA ns.example. admin.example. 1 3600 600 86400 60',
    '@ IN NS ns.example.',
    ...Object.entries(certificates).flatMap(([name, list]) =>
      list.map(
        ({ raw }) => `${name}. IN CERT PKIX 0 0 ( ${raw.toString('base64')} )`,
      ),
    ),
    ...Object.entries(ldap).map(
      ([domain, at]) => `_ldap._tcp.${domain}. IN SRV 0 0 ${at} localhost.`,
    ),
  ];
  await writeFile(join(folder, 'example.zone'), `${zone.join('\n')}\n`);
  await writeFile(
    join(folder, 'nsd.conf'),
    `server:
  ip-address: 127.0.0.1@${port}
  username: ""
  chroot: ""
  zonesdir: "${folder}"
  pidfile: "${folder}/nsd.pid"
  xfrdfile: "${folder}/xfrd.state"
  xfrdir: "${folder}"
  zonelistfile: "${folder}/zone.list"
  database: ""
  server-count: 1
remote-control:
  control-enable: no
zone:
  name: example
  zonefile: "example.zone"
`,
  );

  return started('nsd', ['-d', '-c', join(folder, 'nsd.conf')], port);
}

/** slapd with an inetOrgPerson for each value of `mail`. */
export async function startSlapd(certificates: Published): Promise<Publisher> {
  const folder = await makeTestFolder();
  const port = await freePort();
  await mkdir(join(folder, 'data'));
  const configuration = join(folder, 'slapd.conf');
  await writeFile(
    configuration,
    `include /etc/ldap/schema/core.schema
include /etc/ldap/schema/cosine.schema
include /etc/ldap/schema/inetorgperson.schema
modulepath /usr/lib/ldap
moduleload back_mdb
pidfile ${folder}/slapd.pid
database mdb
suffix "o=example"
directory ${folder}/data
maxsize 10485760
access to * by * read
`,
  );
  const entries = Object.entries(certificates).map(([mail, list], index) =>
    [
      `dn: cn=${index},o=example`,
      'objectClass: inetOrgPerson',
      `cn: ${index}`,
      `sn: ${index}`,
      `mail: ${mail}`,
      ...list.map(
        ({ raw }) => `userCertificate;binary:: ${raw.toString('base64')}`,
      ),
    ].join('\n'),
  );
  const ldif = join(folder, 'entries.ldif');
  await writeFile(
    ldif,
    ['dn: o=example\nobjectClass: organization\no: example', ...entries].join(
      '\n\n',
    ),
  );
  execFileSync(findProgram('slapadd') ?? '', ['-f', configuration, '-l', ldif]);

  return started(
    'slapd',
    ['-d', '0', '-f', configuration, '-h', `ldap://127.0.0.1:${port}`],
    port,
  );
}

const STARTS_WITHIN_MS = 240_000;

async function started(
  name: string,
  args: string[],
  port: number,
): Promise<Publisher> {
  const child = spawn(findProgram(name) ?? '', args, {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const ended = new Promise<void>((resolve) =>
    child.once('exit', () => resolve()),
  );
  const giveUpAt = Date.now() + STARTS_WITHIN_MS;
  while (!(await isListening(port))) {
    if (child.exitCode !== null || Date.now() > giveUpAt)
      throw new Error(`${name} does not start`);
    await sleep(50);
  }

  return { port, [Symbol.asyncDispose]: () => stop(child, ended) };
}

async function stop(child: ChildProcess, ended: Promise<void>): Promise<void> {
  child.kill('SIGTERM');
  await ended;
}

const isListening = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
