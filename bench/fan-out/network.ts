import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runCommand } from '../../src/lib/run-command.ts';
import {
  makeAuthority,
  makeCertificate,
} from '../../test/support/certificates.ts';
import {
  madeBundle,
  madeOrganization,
} from '../../test/support/directory-entries.ts';
import { OUR_COMMUNITY } from '../../test/support/responding-gateway.ts';
import type { StackAccount, TestStack } from '../../test/support/stack.ts';
import { communityOf, hostOf, type Kind } from './behaviours.ts';
import type { Asked, GatewaysToServe } from './serve.ts';

/** Our client certificate, and the network's authority, as files and text. */
export interface Membership {
  authorityFile: string;
  certFile: string;
  keyFile: string;
  authority: string;
  cert: string;
  key: string;
}

/** A certificate has the addresses of so many gateways. */
const GATEWAYS_OF_CERTIFICATE = 25;

/** The simulated gateways, in a process of their own. */
export async function startNetwork(folder: string, kinds: readonly Kind[]) {
  const authority = await makeAuthority(folder, 'network');
  const client = await makeCertificate(folder, 'exchange', {
    authority,
    names: ['DNS:exchange.test'],
    key: 'rsa',
  });
  const certificates = [];
  for (let from = 0; from < kinds.length; from += GATEWAYS_OF_CERTIFICATE) {
    const names = Array.from(
      { length: GATEWAYS_OF_CERTIFICATE },
      (_, index) => `IP:${hostOf(from + index + 1)}`,
    );
    const { certFile, keyFile } = await makeCertificate(
      folder,
      `gateways-${from}`,
      { authority, names, key: 'rsa' },
    );
    certificates.push({
      certificate: await readFile(certFile, 'utf8'),
      privateKey: await readFile(keyFile, 'utf8'),
    });
  }
  const membership: Membership = {
    authorityFile: authority.certFile,
    certFile: client.certFile,
    keyFile: client.keyFile,
    authority: await readFile(authority.certFile, 'utf8'),
    cert: await readFile(client.certFile, 'utf8'),
    key: await readFile(client.keyFile, 'utf8'),
  };
  const child = fork(
    fileURLToPath(new URL('./serve.ts', import.meta.url)),
    [],
    {
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    },
  );
  const { port } = await ask<{ port: number }>(child, {
    kinds,
    authority: membership.authority,
    certificates,
    gatewaysOfCertificate: GATEWAYS_OF_CERTIFICATE,
  } satisfies GatewaysToServe);
  return {
    port,
    membership,
    asked: () => ask<Asked>(child, 'asked'),
    stop: () => child.disconnect(),
  };
}

/** @throws Error when the process ends without an answer */
async function ask<Answer>(
  child: ChildProcess,
  message: object | string,
): Promise<Answer> {
  child.send(message);
  const answered = once(child, 'message').then(([answer]) => answer as Answer);
  const ended = once(child, 'exit').then((): never => {
    throw new Error('the process of the gateways has ended');
  });
  return Promise.race([answered, ended]);
}

export type Network = Awaited<ReturnType<typeof startNetwork>>;

/** Loads the directory, and connects the account, as an operator does. */
export async function connect(
  { dataDir }: TestStack,
  { accountId }: StackAccount,
  { port, membership }: Network,
  kinds: readonly Kind[],
): Promise<void> {
  const admin = (...words: string[]) =>
    runCommand(
      process.execPath,
      ['src/admin.ts', ...words, '--data-dir', dataDir],
      { timeoutMs: 120_000 },
    );
  const file = join(dataDir, 'directory.json');
  const organizations = kinds.map((_, index) => organization(index + 1, port));
  await writeFile(file, JSON.stringify(madeBundle(organizations)));
  await admin('directory', 'load', 'bench', file);
  const later = kinds.flatMap((kind, index) =>
    kind === 'deferred' ? [communityOf(index + 1)] : [],
  );
  const settings = {
    account: accountId,
    source: 'hie',
    name: 'Bench',
    protocol: 'ihe-network',
    directory: 'bench',
    'own-home-community': OUR_COMMUNITY,
    'gateways-max': String(kinds.length),
    'within-miles': '500',
    ...(later.length === 0 ? {} : { 'deferred-communities': later.join(',') }),
    auth: 'saml',
    'organization-name': 'Our clinic',
    'organization-id': OUR_COMMUNITY,
    'saml-subject': 'The exchange',
    'saml-role': '2.16.840.1.113883.6.96|106331006|Administrative personnel',
    'saml-purpose': '2.16.840.1.113883.3.18.7.1|TREATMENT',
    'tls-cert': membership.certFile,
    'tls-key': membership.keyFile,
    'tls-ca': membership.authorityFile,
  };
  const words = Object.entries(settings).flatMap(([name, value]) => [
    `--${name}`,
    value,
  ]);
  await admin('connections', 'create', ...words);
}

function organization(number: number, port: number) {
  const gateway = `https://${hostOf(number)}:${port}`;
  const made = madeOrganization({
    number,
    gateway,
    position: { latitude: 42.36 + number / 10_000, longitude: -71.06 },
  });
  return {
    ...made,
    id: communityOf(number),
    identifier: [
      { ...made.identifier[0], value: `urn:oid:${communityOf(number)}` },
    ],
  };
}
