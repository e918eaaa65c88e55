import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import color from 'picocolors';
import { request } from 'undici';
import { framed } from '../../src/exchange/messaging/notifications/mllp/frames.ts';
import { freePort } from '../../src/lib/free-port.ts';
import { newPerson } from '../../test/support/gateway.ts';
import { pidOf } from '../../test/support/senders.ts';
import { startTestStack, type TestStack } from '../../test/support/stack.ts';
import { startNodeProcess } from '../../tools/embedded/child-process.ts';
import { waitUntil } from '../../tools/embedded/wait-until.ts';

export interface AcknowledgementSoakOptions {
  kills: string;
  keep?: true;
}

const print = (line: string): void => void process.stdout.write(`${line}\n`);

/**
 * `npm run soak -- acknowledgements`: a gateway of its own takes one laboratory
 * result after the other by MLLP, and is killed when the message has been
 * stored and no acknowledgement has reached the sender, who sends it again to
 * the next gateway. Afterwards each message must have been stored once, and
 * each result be in the record once.
 */
export async function soakAcknowledgements(
  options: AcknowledgementSoakOptions,
): Promise<void> {
  const kills = Number(options.kills);
  const dataDir = await mkdtemp(join(tmpdir(), 'exchange-acknowledgements-'));
  print(color.bold(`Starting the stack in ${dataDir} …`));
  const stack = await startTestStack({ dataDir });
  const interrupted = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => interrupted.abort());
  const faults: string[] = [];
  try {
    const patientId = await createMonitoredPatient(stack);
    let unacknowledged = 0;
    for (let round = 1; round <= kills + 1; round += 1) {
      interrupted.signal.throwIfAborted();
      const gateway = await startMllpGateway(stack, dataDir);
      if (round > 1) {
        const acknowledgement = await send(
          gateway.port,
          resultMessage(round - 1),
        );
        if (!acknowledgement.includes(`MSA|AA|${controlOf(round - 1)}`))
          faults.push(`message ${round - 1}: ${acknowledgement}`);
      }
      if (round > kills) await gateway.stop();
      else if (await sendAndKill(stack, gateway, resultMessage(round), round))
        unacknowledged += 1;
      if (round % 10 === 0)
        print(
          `${round} messages; stored, and no acknowledgement seen: ${unacknowledged}`,
        );
    }
    faults.push(...(await judge(stack, patientId, kills)));
    print(
      `${kills} kills; ${unacknowledged} after the message was stored and before its acknowledgement`,
    );
  } finally {
    await stack.stop();
    if (options.keep !== true)
      await rm(dataDir, { recursive: true, force: true });
  }
  for (const fault of faults) print(color.red(`✗ ${fault}`));
  if (faults.length === 0)
    print(
      color.green(
        '✓ Each message was stored once, each result is in the record once.',
      ),
    );
  process.exitCode = faults.length === 0 ? 0 : 1;
}

const controlOf = (round: number): string => `soak-${round}`;
const glucoseOf = (round: number): number => 1_000 + round;
const PERSON = newPerson();

const resultMessage = (round: number): string =>
  [
    `MSH|^~\\&|LAB|MERCY|HUB|X|20261120080000+0000||ORU^R01|${controlOf(round)}|P|2.5.1`,
    pidOf(PERSON),
    `OBR|1||order-${round}|2345-7^Glucose^LN|||20261120080000+0000|||||||||||||||20261120080000+0000||LAB|F`,
    `OBX|1|NM|2345-7^Glucose^LN||${glucoseOf(round)}|mg/dL^^UCUM|||||F|||20261120080000+0000`,
  ].join('\r');

async function createMonitoredPatient({
  connection,
}: TestStack): Promise<string> {
  const post = async (path: string, body: object): Promise<string> => {
    const answer = await request(`${connection.baseUrl}/medical/v1/${path}`, {
      method: 'POST',
      headers: {
        'x-api-key': connection.apiKey,
        'content-type': 'application/json',
      },
      body: JSON.stringify(body),
    });
    const text = await answer.body.text();
    if (answer.statusCode >= 300)
      throw new Error(`POST ${path}: ${answer.statusCode} ${text}`);
    return (JSON.parse(text) as { id: string }).id;
  };
  const settings = { monitoring: { laboratory: { notifications: true } } };
  const cohort = await post('cohort', { name: 'Results', settings });
  return post(`patient?facilityId=${connection.facilityId}`, {
    ...PERSON,
    cohorts: [cohort],
  });
}

/**
 * A second gateway beside the stack's own, with the same settings and an MLLP
 * port.
 */
async function startMllpGateway({ stack }: TestStack, dataDir: string) {
  const environment = await readFile(
    `/proc/${stack.pids().gateway}/environ`,
    'utf8',
  );
  const port = await freePort();
  const { pid, exited, stop } = await startNodeProcess({
    name: 'gateway-mllp',
    entry: 'src/gateway.ts',
    dataDir,
    env: {
      ...Object.fromEntries(
        [...environment.matchAll(/(\w+)=([^\0]*)/g)].map(([, name, value]) => [
          name,
          value,
        ]),
      ),
      GATEWAY_PORT: String(await freePort()),
      MLLP_PORT: String(port),
      MLLP_SENDERS: 'simulator=LAB|MERCY',
    },
  });
  return { pid, exited, stop, port };
}

async function open(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  return socket;
}

async function send(port: number, message: string): Promise<string> {
  const socket = await open(port);
  socket.write(framed(message));
  const [acknowledgement] = await once(socket, 'data');
  socket.destroy();
  return String(acknowledgement);
}

/**
 * Kills the gateway as soon as the message is stored. Returns whether the
 * sender had seen no acknowledgement by then.
 */
async function sendAndKill(
  stack: TestStack,
  {
    pid,
    exited,
    port,
  }: { pid: number; exited: Promise<unknown>; port: number },
  message: string,
  round: number,
): Promise<boolean> {
  const socket = await open(port);
  let isAcknowledged = false;
  socket.on('data', () => {
    isAcknowledged = true;
  });
  socket.write(framed(message));
  while ((await storedMessages(stack)) < round) await sleep(0);
  process.kill(pid, 'SIGKILL');
  await exited;
  socket.destroy();
  return !isAcknowledged;
}

async function storedMessages({ rows }: TestStack): Promise<number> {
  const [messages] = await rows<{ times: number }>(
    'select count(*)::int as times from inbound_message',
  );
  return messages?.times ?? 0;
}

const RECORDED_WITHIN_MS = 300_000;

async function judge(
  stack: TestStack,
  patientId: string,
  kills: number,
): Promise<string[]> {
  const rounds = Array.from({ length: kills }, (_, index) => index + 1);
  const messages = await storedMessages(stack);
  const values = async (): Promise<number[]> => {
    const { baseUrl, apiKey } = stack.connection;
    const url = `${baseUrl}/medical/v1/patient/${patientId}/consolidated?resources=Observation`;
    const { body } = await request(url, { headers: { 'x-api-key': apiKey } });
    const bundle = (await body.json()) as {
      entry?: { resource: { valueQuantity?: { value: number } } }[];
    };
    return (bundle.entry ?? []).flatMap(
      ({ resource }) => resource.valueQuantity?.value ?? [],
    );
  };
  const isComplete = async () =>
    new Set(await values()).size >= kills ? true : undefined;
  await waitUntil('all results are in the record', isComplete, {
    timeoutMs: RECORDED_WITHIN_MS,
  }).catch(() => undefined);
  const found = await values();
  const wrong = rounds.filter(
    (round) => found.filter((value) => value === glucoseOf(round)).length !== 1,
  );
  return [
    ...(messages === kills
      ? []
      : [`${messages} messages are stored instead of ${kills}`]),
    ...wrong.map(
      (round) =>
        `result ${round} is in the record ${found.filter((value) => value === glucoseOf(round)).length} times`,
    ),
  ];
}
