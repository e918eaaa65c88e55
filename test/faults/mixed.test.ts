import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { checkWave } from '../../bench/soak/mixed/check-wave.ts';
import { type MixedStack, startMixedStack } from '../../bench/soak/mixed/mixed-stack.ts';
import { webhooksEnded } from '../../bench/soak/mixed/run.ts';
import { runWave, type Wave } from '../../bench/soak/mixed/wave.ts';

// The load and the checks of `npm run soak -- --minutes <n>`, without its faults.
let dataDir: string;
let stack: MixedStack;
let wave: Wave;
beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'exchange-mixed-'));
  stack = await startMixedStack(dataDir);
  wave = await runWave(stack, 1, { timeoutMs: 240_000 });
  await webhooksEnded(wave);
}, 300_000);
afterAll(async () => {
  await stack?.stop();
  await rm(dataDir, { recursive: true, force: true });
}, 60_000);

test('mixed work of one account ends undisturbed with nothing lost, doubled or stuck; planted faults are found', async () => {
  const before = await checkWave(stack, wave, await stack.received(), undefined);
  expect(before.faults).toEqual([]);
  for (const size of Object.values(before.records)) expect(size).toBeGreaterThan(20);

  const { accountId } = wave.caller.account;
  const received = await stack.received();
  const [lost, ...rest] = received.filter(
    ({ type, requestId }) => type === 'message.status' && wave.messages.includes(requestId ?? ''),
  );
  await stack.rows(`update network_query set status = 'failed' where id = $1`, [wave.steered]);
  await stack.rows(
    `insert into patient (id, account_id, external_id, first_names, last_names, dob, gender, addresses, facility_ids)
     select gen_random_uuid(), account_id, external_id, '{Pat}', '{Second}', dob, gender, addresses, facility_ids
     from patient where account_id = $1 and external_id = 'monitored-0'`,
    [accountId],
  );
  const doubled = rest.map((line) => ({ ...line, messageId: 'another' }));
  const { faults } = await checkWave(stack, wave, [...received.filter((line) => line !== lost), ...doubled], {
    ...before.records,
    'keith-kiehn': 1,
  });
  // Which of the two messages arrived first is left to the webhooks.
  const planted = [
    `wave 1: query ${wave.steered} is failed`,
    'wave 1: 65 patients, got 66 of 65 persons',
    expect.stringContaining('wave 1: records have'),
    `wave 1: webhook message.status of ${lost?.requestId}: 0 messages`,
    `wave 1: webhook message.status of ${rest[0]?.requestId}: 2 messages`,
  ];
  expect(faults).toEqual(expect.arrayContaining(planted));
  expect(faults).toHaveLength(planted.length);
});
