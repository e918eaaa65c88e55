import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type {
  SourceConnector,
  SourcePage,
} from '../../src/exchange/sources/connectors/connector.ts';
import { runCommand } from '../../src/lib/run-command.ts';
import {
  type BenchCredentials,
  beginCollecting,
  connectTo,
  PROTOCOLS,
  type Protocol,
} from './collectors.ts';
import type { Served } from './serve.ts';
import type { StreamCost, StreamOrder } from './stream-large.ts';

export interface IheBenchOptions {
  rounds: number;
  /** Of the one person. */
  documents: number;
  kilobytes: number;
  /** Entries of the long list. */
  entries: number;
  /** Of the large document. */
  megabytes: number;
}

/** CPU time of this process, which only collects, and time. */
export interface CollectCost {
  cpuMs: number;
  ms: number;
}

export interface IheBenchResult {
  /** Load of the machine before and after. */
  load: [number, number];
  /** All documents of the person: one cost a round. */
  documents: Record<Protocol, CollectCost[]>;
  /** The long list alone: one cost a round. */
  list: Record<Protocol, CollectCost[]>;
  /** The large document: one cost a round, each in a process of its own. */
  large: Record<Protocol, StreamCost[]>;
}

/** Collections of a round, because one is short. */
const COLLECTIONS = 5;

/**
 * Collects the same documents over IHE, signed, and over FHIR (MHD), in turns.
 * The sources run in a process of their own.
 */
export async function benchIhe(
  { rounds, documents, kilobytes, entries, megabytes }: IheBenchOptions,
  note: (line: string) => void,
): Promise<IheBenchResult> {
  const sources = forked(new URL('./serve.ts', import.meta.url));
  try {
    const credentials = await makeCredentials();
    const served = await ask<Record<'documents' | 'list' | 'large', Served>>(
      sources,
      {
        documents: { count: documents, bytes: kilobytes * 1_000 },
        list: { count: entries, bytes: 1_000 },
        large: { count: 1, bytes: megabytes * 1_000_000 },
      },
    );
    const before = loadavg()[0] ?? 0;
    const result: IheBenchResult = {
      load: [before, before],
      documents: { ihe: [], fhir: [] },
      list: { ihe: [], fhir: [] },
      large: { ihe: [], fhir: [] },
    };
    const connectorsTo = (where: Served) => ({
      ihe: connectTo('ihe', where, credentials),
      fhir: connectTo('fhir', where, credentials),
    });
    const toDocuments = connectorsTo(served.documents);
    const toList = connectorsTo(served.list);
    // The first round is a warm-up.
    for (let round = 0; round <= rounds; round += 1)
      for (const protocol of inTurns(round)) {
        const cost = {
          documents: await costOf(() =>
            collect(toDocuments[protocol], documents, kilobytes * 1_000),
          ),
          list: await costOf(() => readList(toList[protocol], entries)),
          large: await streamLarge(
            { protocol, served: served.large, credentials },
            megabytes * 1_000_000,
          ),
        };
        note(
          `${round === 0 ? 'warm-up' : `round ${round}`}, ${protocol}: documents ${cost.documents.cpuMs.toFixed(0)} ms of CPU, list ${cost.list.cpuMs.toFixed(0)}, large document ${cost.large.cpuMs.toFixed(0)} and ${cost.large.grownMegabytes.toFixed(0)} MB`,
        );
        if (round === 0) continue;
        result.documents[protocol].push(cost.documents);
        result.list[protocol].push(cost.list);
        result.large[protocol].push(cost.large);
      }
    result.load[1] = loadavg()[0] ?? 0;
    return result;
  } finally {
    sources.disconnect();
  }
}

/** Neither is always the first. */
const inTurns = (round: number): readonly Protocol[] =>
  round % 2 === 0 ? PROTOCOLS : PROTOCOLS.toReversed();

/** What one collection costs, on average. */
async function costOf(work: () => Promise<void>): Promise<CollectCost> {
  const cpuBefore = process.cpuUsage();
  const startedMs = performance.now();
  for (let count = 0; count < COLLECTIONS; count += 1) await work();
  const { user, system } = process.cpuUsage(cpuBefore);
  return {
    cpuMs: (user + system) / 1_000 / COLLECTIONS,
    ms: (performance.now() - startedMs) / COLLECTIONS,
  };
}

/** @throws Error unless all documents came whole */
async function collect(
  connector: SourceConnector,
  documents: number,
  bytesEach: number,
): Promise<void> {
  let count = 0;
  for await (const { attachments } of await beginCollecting(connector))
    count += attachments.filter(
      ({ bytes }) => bytes.length === bytesEach,
    ).length;
  if (count !== documents)
    throw new Error(`${count} of ${documents} documents came`);
}

/** Reads the list, and none of its documents. */
async function readList(
  connector: SourceConnector,
  entries: number,
): Promise<void> {
  let count = 0;
  for await (const page of await beginCollecting(connector)) {
    count += documentsListedIn(page);
    if (count === entries) return;
  }
  throw new Error(`${count} of ${entries} documents were listed`);
}

const documentsListedIn = ({ resources }: SourcePage): number =>
  resources.filter(({ resourceType }) => resourceType === 'DocumentReference')
    .length;

/** @throws Error unless the document came whole */
async function streamLarge(
  order: StreamOrder,
  bytes: number,
): Promise<StreamCost> {
  const child = forked(new URL('./stream-large.ts', import.meta.url));
  try {
    const cost = await ask<StreamCost>(child, order);
    if (cost.bytes !== bytes)
      throw new Error(`${cost.bytes} of ${bytes} bytes came`);
    return cost;
  } finally {
    child.disconnect();
  }
}

/** An RSA key and a certificate of it, as gateways ask for. */
async function makeCredentials(): Promise<BenchCredentials> {
  const folder = await mkdtemp(join(tmpdir(), 'bench-ihe-'));
  try {
    const cert = join(folder, 'client.pem');
    const key = join(folder, 'client.key');
    const words = `req -x509 -newkey rsa:2048 -nodes -days 60 -subj /CN=gateway.example -out ${cert} -keyout ${key}`;
    await runCommand('openssl', words.split(' '), { timeoutMs: 60_000 });
    return {
      cert: await readFile(cert, 'utf8'),
      key: await readFile(key, 'utf8'),
    };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const forked = (program: URL): ChildProcess =>
  fork(fileURLToPath(program), [], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });

/** @throws Error when the process ends without an answer */
async function ask<Answer>(
  child: ChildProcess,
  message: object,
): Promise<Answer> {
  child.send(message);
  const answered = once(child, 'message').then(([answer]) => answer as Answer);
  const ended = once(child, 'exit').then((): never => {
    throw new Error('a process of the benchmark has ended');
  });
  return Promise.race([answered, ended]);
}
