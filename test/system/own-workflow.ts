import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { builtinModules } from 'node:module';
import { join } from 'node:path';
import {
  afterAll,
  beforeAll,
  describe,
  expect,
  onTestFinished,
  test,
} from 'vitest';
import { loadSamplePatients } from '../../src/local-stack/sample-patients.ts';
import type { TemporalClient } from '../../src/temporal/client.ts';
import { startOtlpReceiver } from '../support/otlp-receiver.ts';
import {
  installOwnWorkflow,
  LIBRARY,
  type OwnWorkflow,
} from '../support/own-workflow.ts';
import { callGateway, type TestStack } from '../support/stack.ts';

export const describeOwnWorkflow = (startedIn: () => TestStack) =>
  describe('the packed library and its example', () => {
    let own: OwnWorkflow;
    beforeAll(async () => {
      own = await installOwnWorkflow();
    });
    afterAll(() => own?.remove());

    test('declares its types completely: the example compiles, and so does every entry point', async () => {
      expect(own.entries).toContain(`${LIBRARY}/worker`);
      const lines = (await own.typeErrors()).split('\n');
      // Errors within the libraries of others, and what goes on from an error.
      const isTheirs = (line: string) => /^(?:\.\.\/| |$)/.test(line);
      expect(lines.filter((line) => !isTheirs(line))).toEqual([]);
    });

    test('depends on everything that it imports', async () => {
      const library = join(own.folder, 'node_modules', LIBRARY);
      const { dependencies, peerDependencies } = JSON.parse(
        await readFile(join(library, 'package.json'), 'utf8'),
      );
      const imported = await packagesImportedIn(join(library, 'dist'));
      const named = { ...dependencies, ...peerDependencies };
      expect([...imported].filter((name) => !(name in named))).toEqual([]);
      expect([...imported]).toContain('@temporalio/worker');
    });

    test('runs a workflow of its own against a running stack, from webhook to summary', async () => {
      const stack = startedIn();
      const { connection, dataDir } = stack;
      const collector = await startOtlpReceiver();
      onTestFinished(() => collector.close());
      const worker = await own.startFile('worker.ts', 'The worker serves', {
        DATA_DIR: dataDir,
        RECEIVER_PORT: '0',
        OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      });
      onTestFinished(async () => {
        worker.kill('SIGTERM');
        if (worker.exitCode === null && worker.signalCode === null)
          await once(worker, 'exit');
      });
      // So that the workflow waits: it looks at the query first and again only
      // when a webhook has come.
      await stack.simulator.setRules([
        { source: 'hie', fault: { type: 'latency', ms: 3_000 }, times: 1 },
      ]);
      const sample = loadSamplePatients().find(
        ({ key }) => key === 'keith-kiehn',
      );
      const created = await callGateway(
        connection,
        connection,
        'POST',
        `patient?facilityId=${connection.facilityId}`,
        { body: sample?.createBody },
      );

      const appointment = new Date(Date.now() + 3_600_000).toISOString();
      const printed = await own.runFile(
        'start.ts',
        [created.body.id, appointment, '2'],
        {
          DATA_DIR: dataDir,
        },
      );

      const summary = JSON.parse(printed);
      expect(summary).toMatchObject({
        status: 'completed',
        resources: { Patient: 1 },
      });
      expect(summary.sources).toEqual(
        ['hie', 'pharmacy', 'lab'].map((source) => ({
          source,
          status: 'completed',
        })),
      );
      expect(await signalsOfTheRefresh(stack.temporal)).toBeGreaterThan(0);
      // Its traces: each call of the interface belongs to the activity that
      // made it.
      await expect
        .poll(() => collector.spans.map(({ name }) => name))
        .toEqual(
          expect.arrayContaining([
            'activity startNetworkQuery',
            'call startNetworkQuery',
          ]),
        );
      const call = collector.spans.find(
        ({ name }) => name === 'call startNetworkQuery',
      );
      const activity = collector.spans.find(
        ({ spanId }) => spanId === call?.parentSpanId,
      );
      expect(activity).toMatchObject({
        name: 'activity startNetworkQuery',
        service: expect.any(String),
      });
    });
  });

async function packagesImportedIn(folder: string): Promise<Set<string>> {
  const names = new Set<string>();
  for (const file of await readdir(folder, { recursive: true })) {
    if (!/\.(js|cjs|d\.ts)$/.test(file)) continue;
    const text = await readFile(join(folder, file), 'utf8');
    for (const [, module = ''] of text.matchAll(
      /(?:from |import\(|require\(|import )'([\w@][\w@/.-]*)'/g,
    )) {
      const name = module
        .split('/')
        .slice(0, module.startsWith('@') ? 2 : 1)
        .join('/');
      if (!name.startsWith('node:') && !builtinModules.includes(name))
        names.add(name);
    }
  }
  return names;
}

/** How often webhooks have signalled the one refresh that there is. */
async function signalsOfTheRefresh({
  workflow,
}: TemporalClient): Promise<number> {
  const refreshes = workflow.list({
    query: 'WorkflowType="refreshBeforeAppointment"',
  });
  for await (const { workflowId } of refreshes) {
    const { events } = await workflow.getHandle(workflowId).fetchHistory();
    return (
      events?.filter((event) => event.workflowExecutionSignaledEventAttributes)
        .length ?? 0
    );
  }
  throw new Error('There is no refresh');
}
