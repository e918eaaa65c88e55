import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { SourceStepInput } from '../../src/contract/network-query-workflow.ts';
import { STARTS_MAX } from '../../src/exchange/platform/recovery/start-guard.ts';
import {
  createQueryEnvironment,
  type QueryEnvironment,
  stepOf,
} from '../support/network-query-environment.ts';

let environment: QueryEnvironment;
let accountId: string;
beforeAll(async () => {
  environment = await createQueryEnvironment();
  ({ accountId } = await environment.addAccount());
});
afterAll(() => environment.close());

const startsOf = (name: string) =>
  environment.store.asAccount(accountId, async (tx) => {
    const row = await tx.db
      .selectFrom('activity_start')
      .select('starts')
      .where('work', '=', name)
      .executeTakeFirst();
    return row?.starts ?? 0;
  });

test('a source whose answer ends the process each time fails its attempt after some starts', async () => {
  const patientId = await environment.addPatient(accountId);
  const requestId = await environment.addQuery(accountId, patientId, ['hie']);
  const step = stepOf(accountId, requestId, 'hie');
  for (let start = 1; start <= STARTS_MAX; start += 1) {
    expect(await askInAProcess(step)).toMatchObject({ code: 1, output: '' });
    expect(await startsOf(`source/${requestId}/hie/1`)).toBe(start);
  }
  const { code, output } = await askInAProcess(step);
  expect(code).toBe(0);
  const message = `hie is not queried again: The exchange stopped unexpectedly ${STARTS_MAX} times at this point`;
  expect(JSON.parse(output)).toEqual({
    type: 'SourceRefused',
    nonRetryable: true,
    message,
  });
  expect(await startsOf(`source/${requestId}/hie/1`)).toBe(0);
  const told = (await environment.timeline(accountId, requestId)).map(
    ({ message }) => message,
  );
  expect(told).toContain(`Call 1: ${message}`);
});

async function askInAProcess(
  step: SourceStepInput,
): Promise<{ code: number; output: string }> {
  const child = spawn(
    process.execPath,
    [
      'test/faults/dying-step.ts',
      environment.databaseUrl,
      JSON.stringify(step),
    ],
    { stdio: ['ignore', 'pipe', 'ignore'] },
  );
  const [output, [code]] = await Promise.all([
    text(child.stdout),
    once(child, 'exit'),
  ]);
  return { code: Number(code), output };
}
