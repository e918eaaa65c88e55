import { Client } from '@temporalio/client';
import { describe, expect, onTestFinished, test } from 'vitest';
import { commandLineOf } from '../../src/lib/command-line-of.ts';
import { openConnection } from '../../src/temporal/connection.ts';
import {
  startTemporalServer,
  type TemporalServerOptions,
} from '../../tools/embedded/temporal-server.ts';
import {
  killAndWait,
  runHolder,
  testFolder,
} from '../support/postgres-tools.ts';

async function start(options: TemporalServerOptions) {
  const server = await startTemporalServer(options);
  onTestFinished(() => server.stop());
  return server;
}

async function connect(address: string): Promise<Client> {
  const connection = await openConnection({ address });
  onTestFinished(() => connection.close());
  return new Client({ connection });
}

const WORKFLOW_ID = 'waits-for-a-worker';

async function startWorkflow(address: string): Promise<void> {
  const client = await connect(address);
  await client.workflow.start('someWorkflow', {
    workflowId: WORKFLOW_ID,
    taskQueue: 'nobody',
  });
}

async function workflowStatus(address: string): Promise<string> {
  const client = await connect(address);
  return (await client.workflow.getHandle(WORKFLOW_ID).describe()).status.name;
}

describe('embedded Temporal server', () => {
  test('keeps open workflows when it is killed, and is found under the same address again', async () => {
    const dataDir = await testFolder();
    const first = await start({ dataDir });
    await startWorkflow(first.address);
    process.kill(first.pid, 'SIGKILL');
    await first.exited;
    const second = await start({
      dataDir,
      port: first.port,
      uiPort: first.uiPort,
    });
    expect(second).toMatchObject({
      address: first.address,
      uiUrl: first.uiUrl,
    });
    expect(await workflowStatus(second.address)).toBe('RUNNING');
  });

  test('replaces the server that a killed supervisor left behind', async () => {
    const dataDir = await testFolder();
    const { holder, message: left } = await runHolder<{
      address: string;
      pid: number;
    }>('./temporal-server-holder.ts', [dataDir]);
    await startWorkflow(left.address);
    await killAndWait(holder);
    expect(await commandLineOf(left.pid)).toContain(dataDir);
    const next = await start({ dataDir });
    expect(await commandLineOf(left.pid)).toBeUndefined();
    expect(await workflowStatus(next.address)).toBe('RUNNING');
  });

  test('keeps closed workflows for the days it is told to', async () => {
    const server = await start({
      dataDir: await testFolder(),
      retentionDays: 9,
    });
    const client = await connect(server.address);
    const { config } = await client.workflowService.describeNamespace({
      namespace: 'default',
    });
    expect(Number(config?.workflowExecutionRetentionTtl?.seconds)).toBe(
      9 * 86_400,
    );
  });

  test('has what it needs to be fair between accounts, and a search attribute of each kind we use', async () => {
    const server = await start({
      dataDir: await testFolder(),
      searchAttributes: { Tenant: 'Keyword', Parts: 'KeywordList' },
    });
    const command = await commandLineOf(server.pid);
    expect(command).toContain('matching.enableFairness=true');
    expect(command).toContain('matching.numTaskqueueReadPartitions=1');
    const client = await connect(server.address);
    const { customAttributes } =
      await client.connection.operatorService.listSearchAttributes({
        namespace: 'default',
      });
    expect(customAttributes).toMatchObject({
      Tenant: expect.anything(),
      Parts: expect.anything(),
    });
  });

  test('says why it does not start', async () => {
    const dataDir = await testFolder();
    const searchAttributes = { Tenant: 'Nonsense' as 'Keyword' };
    await expect(start({ dataDir, searchAttributes })).rejects.toThrow(
      /The Temporal server did not start: .*(Nonsense|search attribute)/,
    );
  });
});
