import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import color from 'picocolors';
import { request } from 'undici';
import type { TimelineEntry } from '../../src/contract/network-query.ts';
import {
  PATIENT_ONBOARDING_MESSAGES,
  type PatientOnboardingStatus,
  type PatientOnboardingSummary,
} from '../../src/contract/patient-onboarding.ts';
import {
  SOURCE_TYPES,
  type SourceType,
} from '../../src/contract/primitives.ts';
import { networkQueryWorkflowId } from '../../src/contract/temporal.ts';
import { counted } from '../../src/lib/counted.ts';
import type { LineStream } from '../../src/lib/live-lines.ts';
import { renderTable } from '../../src/lib/table.ts';
import {
  ensureSecrets,
  type StackConnection,
} from '../../src/local-stack/connection-file.ts';
import { loadSamplePatients } from '../../src/local-stack/sample-patients.ts';
import {
  type StartedOnboarding,
  startOnboarding,
} from '../../src/orchestrator/patient-onboarding/start-onboarding.ts';
import { createTemporalClient } from '../../src/temporal/client.ts';
import { workflowLink } from '../../src/temporal/ui-links.ts';
import { startCluster } from '../cluster/cluster.ts';
import { startStack } from '../embedded/stack.ts';
import { createStartProgress } from '../embedded/start-progress.ts';
import { createSimulatorAdmin } from '../simulator/admin-client.ts';
import { openDoors } from './doors.ts';
import {
  GATEWAY_PATIENT,
  GATEWAY_RULE,
  gatewayFaults,
  queryGateway,
} from './gateway.ts';
import { INCIDENTS, PATIENTS } from './scenario.ts';
import {
  countMerged,
  findFaults,
  type PatientFacts,
  readReceiverLog,
} from './witnesses.ts';

/**
 * A lost webhook is replaced by a poll after a short time, so that a demo does
 * not take long.
 */
const TIMING = { pollFirstMs: 20_000 };
/** How long to wait for a webhook in transit to be logged. */
const SETTLE_MS = 1_000;

export async function runDemo(options: {
  dataDir: string;
  breaks?: 'fault' | 'webhooks';
  /** With all parts apart, as `npm run cluster` has them. */
  onCluster: boolean;
  keep: boolean;
  print: (line?: string) => void;
  /** Where `print` writes to. */
  stream: LineStream;
  signal: AbortSignal;
}) {
  const { dataDir, print, signal } = options;
  const begunAt = Date.now();
  const timing: Record<string, number> = {
    'load and compile the programs': round(process.uptime()),
  };
  let lapAt = begunAt;
  const lap = (phase: string) => {
    timing[phase] = seconds(lapAt);
    lapAt = Date.now();
  };
  print(
    color.bold(
      'Starting PostgreSQL, Temporal, three source networks, gateway, receiver and worker …',
    ),
  );
  const progress = createStartProgress(options.stream);
  const how = { dataDir, signal, onStart: progress.onStart, logLevel: 'warn' };
  const starting = options.onCluster
    ? startCluster({ ...how, log: print })
    : startStack({
        ...how,
        // A receiver with another key than the sender's rejects every webhook.
        environment:
          options.breaks === 'webhooks'
            ? {
                receiver: {
                  WEBHOOK_KEY: 'whsec_c29tZWJvZHkgZWxzZSdzIGtleSwgcmVhbGx5',
                },
              }
            : {},
      });
  const stack = await starting.finally(progress.close);
  lap('start the parts');
  try {
    const { connection } = stack;
    const ui = {
      url: connection.temporalUiUrl ?? '',
      namespace: connection.temporalNamespace,
    };
    const link = (workflowId: string) => workflowLink(ui, workflowId) ?? '';
    print(`Started in ${seconds(begunAt)} s.`);
    // Without --keep, the UI ends before anyone has looked at it.
    if (options.keep)
      print(
        `Watch the demo in the Temporal UI (the link works once): ${color.cyan(connection.temporalUiLink ?? ui.url)}`,
      );
    print();

    const simulator = createSimulatorAdmin(
      connection.simulatorUrl,
      connection.simulatorAdminToken,
    );
    const [broken] = INCIDENTS;
    const incidents =
      options.breaks === 'fault'
        ? INCIDENTS.filter((incident) => incident !== broken)
        : INCIDENTS;
    await simulator.setRules([
      ...incidents.map(({ rule, sample, source }) => ({
        ...rule,
        sample,
        source,
      })),
      GATEWAY_RULE,
    ]);
    print('These faults are injected:');
    for (const { sample, source, title } of incidents)
      print(`  ${sample}: ${source} ${title}`);
    print(`  ${GATEWAY_PATIENT}: an IHE gateway leaves documents out`);
    print();

    const lookThroughDoors = openDoors(connection);
    const secrets = await ensureSecrets(dataDir);
    const temporal = await createTemporalClient({
      TEMPORAL_ADDRESS: connection.temporalAddress,
      TEMPORAL_NAMESPACE: connection.temporalNamespace,
      TEMPORAL_API_KEY: undefined,
      DATA_KEYS: secrets.dataKeys,
    });
    const samples = await loadSamplePatients();
    const onboardings = await Promise.all(
      PATIENTS.map(async (key) => {
        const sample = samples.find((patient) => patient.key === key);
        if (sample === undefined)
          throw new Error(`There is no sample patient ${key}`);
        const started = await startOnboarding(
          temporal,
          {
            jobId: `demo/${key}`,
            facilityId: connection.facilityId,
            patient: sample.createBody,
            sources: {
              hie: { enabled: true },
              pharmacy: { enabled: true },
              lab: { enabled: true },
            },
            timing: TIMING,
          },
          {
            exchange: { credentialRef: `account/${connection.accountId}` },
            idHmacKey: secrets.idHmacKey,
          },
        );
        return { key, fullName: sample.fullName, started };
      }),
    );
    // Beside the onboardings, which it does not touch.
    const askingGateway = queryGateway(connection, signal);
    // Awaited below; until then a rejection must not count as unhandled.
    askingGateway.catch(() => undefined);
    const follow = createFollower(
      connection,
      print,
      options.stream.isTTY === true,
    );
    const summaries = new Map(
      await Promise.all(onboardings.map((each) => follow(each, signal))),
    );
    lap(`onboard ${PATIENTS.length} patients`);
    const patientId = summaries.get(PATIENTS[0])?.patientId ?? '';
    const fullName = onboardings[0]?.fullName ?? '';
    // Beside the waiting and reading below.
    const looking = lookThroughDoors({ patientId, fullName });
    await sleep(SETTLE_MS, undefined, { signal });

    const received = await readReceiverLog(dataDir);
    const facts: PatientFacts[] = [];
    const patients: DemoRow[] = [];
    for (const { key, fullName, started } of onboardings) {
      const summary = summaries.get(key);
      if (summary === undefined)
        throw new Error(`The onboarding of ${key} has no summary`);
      const patient = factsOf(key, summary);
      facts.push(patient);
      patients.push({
        patient: fullName,
        status: summary.status,
        sources: patient.sources,
        resources: await countMerged(summary.consolidatedDataUrl),
        webhooks: received.filter(
          ({ requestId, repeat }) => requestId === patient.requestId && !repeat,
        ).length,
        links: options.keep
          ? [
              link(started.workflowId),
              link(networkQueryWorkflowId(patient.requestId)),
            ]
          : [],
      });
    }
    const doors = await looking;
    const gateway = await askingGateway;
    const faults = [
      ...findFaults(facts, await simulator.requests(), received),
      ...Object.entries(doors).flatMap(([door, line]) =>
        line === undefined ? [`${door}: no answer`] : [],
      ),
      ...gatewayFaults(gateway),
    ];
    lap('read the records and the logs');

    print(`\n${renderEnd(patients)}\n\nThrough other doors, of ${fullName}:`);
    for (const [door, line = '–'] of Object.entries(doors))
      print(`  ${door.padEnd(12)}  ${line.trim()}`);
    print(
      `\nBy IHE (XCPD and XCA), of ${gateway.patient}: ${counted(gateway.documents, 'document')}. What the gateway failed to give:`,
    );
    for (const [gap, times] of countedLines(gateway.gaps))
      print(color.yellow(`  ${times} × ${gap}`));
    print();
    for (const fault of faults) print(color.red(`✗ ${fault}`));
    print(verdict(faults, incidents.length, seconds(begunAt)));
    if (options.keep && !signal.aborted) {
      print(
        `\nThe stack keeps running until Ctrl-C. API reference: ${connection.baseUrl}/reference, API key: ${connection.apiKey}`,
      );
      await once(signal, 'abort');
    }
    await temporal.connection.close();
    return {
      patients,
      incidents: incidents.map(({ sample, source, title }) => ({
        sample,
        source,
        title,
      })),
      /** What each other door said of the first patient. */
      doors,
      /** What an IHE gateway gave of another patient. */
      gateway,
      /** What differs from the expectation; empty when the demo succeeded. */
      faults,
      seconds: seconds(begunAt),
      /** Where the time went: each phase with its seconds. */
      timing,
    };
  } finally {
    lapAt = Date.now();
    await stack.stop();
    lap('stop the parts');
  }
}

/** Each line once, with how often it is there. */
function countedLines(lines: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const line of lines) counts.set(line, (counts.get(line) ?? 0) + 1);
  return counts;
}

const factsOf = (
  sample: string,
  summary: PatientOnboardingSummary,
): PatientFacts => ({
  sample,
  requestId: summary.requestIds[0] ?? '',
  sources: summary.sources.map(({ type, outcome, attempts }) => ({
    type,
    status: outcome,
    attempts,
  })),
  consolidatedDataUrl: summary.consolidatedDataUrl,
});

function verdict(
  faults: readonly string[],
  incidents: number,
  after: number,
): string {
  if (faults.length > 0)
    return color.red(
      `${counted(faults.length, 'check')} failed: see the lines above (${after} s).`,
    );
  return color.green(
    `✓ All ${PATIENTS.length} patients ended as expected, and all ${incidents} injected faults were handled, according to the logs of the sources and the receiver (${after} s).`,
  );
}

const round = (value: number): number => Math.round(value * 10) / 10;
const seconds = (since: number): number => round((Date.now() - since) / 1_000);

interface DemoRow {
  patient: string;
  status: string;
  sources: { type: SourceType; status: string; attempts: number }[];
  resources: number;
  webhooks: number;
  /**
   * Pages in the Temporal UI: of the onboarding, and of the query that it
   * started.
   */
  links: string[];
}

/**
 * Renders a table with one line for each patient, and the patient's links below
 * it.
 */
function renderEnd(rows: readonly DemoRow[]): string {
  const [head, rule, ...lines] = renderTable(
    ['Patient', 'Query', ...SOURCE_TYPES, 'Resources', 'Webhooks'],
    rows.map((row) => [
      row.patient,
      paint(row.status, row.status),
      ...SOURCE_TYPES.map((type) => sourceCell(row, type)),
      String(row.resources),
      String(row.webhooks),
    ]),
    // One line for each patient, with the links below it.
    Number.POSITIVE_INFINITY,
  );
  const withLinks = lines.flatMap((line, index) => [
    line,
    ...(rows[index]?.links ?? []).map((link) => color.dim(`  ${link}`)),
  ]);
  return [color.bold(head), rule, ...withLinks].join('\n');
}

function sourceCell(row: DemoRow, type: SourceType): string {
  const source = row.sources.find((entry) => entry.type === type);
  if (source === undefined) return '–';
  return paint(
    source.status,
    source.attempts > 1
      ? `${source.status} (${source.attempts} attempts)`
      : source.status,
  );
}

function paint(status: string, text: string): string {
  if (status === 'completed') return color.green(text);
  return status === 'partial' ? color.yellow(text) : color.red(text);
}

const LOOK_EVERY_MS = 400;

/** Without a terminal, only these entries of a timeline are printed. */
const OUTCOMES = ['call-failed', 'failed', 'completed', 'query-ended'];

/**
 * Prints the progress of each onboarding: the phases of its workflow, and the
 * timeline entries of its queries.
 */
function createFollower(
  connection: StackConnection,
  print: (line: string) => void,
  isDetailed: boolean,
) {
  const begunAt = Date.now();
  const printStep = (key: string, source: string, message: string) => {
    const at = `${((Date.now() - begunAt) / 1000).toFixed(1)} s`.padStart(7);
    print(
      `${color.dim(at)}  ${key.padEnd(16)} ${color.cyan(source.padEnd(9))} ${message}`,
    );
  };

  async function readTimeline(requestId: string): Promise<TimelineEntry[]> {
    const answer = await request(
      `${connection.baseUrl}/medical/v1/network/query/${requestId}/timeline`,
      {
        headers: { 'x-api-key': connection.apiKey },
      },
    );
    const { timeline } = (await answer.body.json()) as {
      timeline?: TimelineEntry[];
    };
    return timeline ?? [];
  }

  return async (
    { key, started: { handle } }: { key: string; started: StartedOnboarding },
    signal: AbortSignal,
  ) => {
    let ended = false;
    const result: Promise<PatientOnboardingSummary> = handle
      .result()
      .finally(() => {
        ended = true;
      });
    // Awaited below; until then a rejection must not count as unhandled.
    result.catch(() => undefined);
    const printed = new Map<string, number>();
    const printNewSteps = async (requestId: string) => {
      const timeline = await readTimeline(requestId);
      const known = printed.get(requestId) ?? 0;
      for (const { source, kind, message } of timeline.slice(known))
        if (isDetailed || OUTCOMES.includes(kind))
          printStep(key, source ?? '', paintOutcome(kind, message));
      printed.set(requestId, timeline.length);
    };
    let phase = '';
    for (let last = false; !last; ) {
      last = ended;
      const status = await handle
        .query<PatientOnboardingStatus>(PATIENT_ONBOARDING_MESSAGES.status)
        .catch(() => undefined);
      if (isDetailed && status !== undefined && status.phase !== phase)
        printStep(key, '', status.phase);
      phase = status?.phase ?? phase;
      for (const requestId of status?.requestIds ?? [])
        await printNewSteps(requestId);
      if (!last) await sleep(LOOK_EVERY_MS, undefined, { signal });
    }
    return [key, await result] as const;
  };
}

function paintOutcome(kind: string, message: string): string {
  if (kind === 'call-failed' || kind === 'failed') return color.yellow(message);
  return kind === 'completed' ? color.green(message) : message;
}
