import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  checkWave,
  type WaveFacts,
} from '../../bench/soak/mixed/check-wave.ts';
import { cause } from '../../bench/soak/mixed/faults.ts';
import {
  type MixedStack,
  startMixedStack,
} from '../../bench/soak/mixed/mixed-stack.ts';
import { FAULT_KINDS, planBriefly } from '../../bench/soak/mixed/plan.ts';
import { runDisturbed, runUndisturbed } from '../../bench/soak/mixed/run.ts';
import type { Wave } from '../../bench/soak/mixed/wave.ts';
import { seededRandom } from '../support/seeded-random.ts';

// The short form of `npm run soak -- --minutes <n>`. The seed gives the faults,
// not the moments of the work that they meet.
const SEED = 5;
/** Far above what a busy machine needs: only what is stuck meets it. */
const TIMEOUT_MS = 25 * 60_000;

let dataDir: string;
let stack: MixedStack;
let undisturbed: WaveFacts;
let wave: Wave;
beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'exchange-mixed-'));
  stack = await startMixedStack(dataDir);
  ({ wave, facts: undisturbed } = await runUndisturbed(stack));
}, TIMEOUT_MS);
afterAll(async () => {
  await stack?.stop();
  await rm(dataDir, { recursive: true, force: true });
});

test(
  `while each kind of fault befalls the stack (seed ${SEED}), mixed work ends with nothing lost, doubled or stuck`,
  async () => {
    expect(undisturbed.faults).toEqual([]);
    const log: string[] = [];
    const run = await runDisturbed(stack, {
      faults: planBriefly(seededRandom(SEED)),
      cause: (fault) => cause(stack, fault),
      endsWithinMs: TIMEOUT_MS / 5,
      wavesAtOnce: 1,
      usual: undisturbed.records,
      log: (line) => log.push(line),
    });
    expect(run.losses, log.join('\n')).toEqual([]);
    expect(run.faults.filter(({ times }) => times === 1)).toHaveLength(
      FAULT_KINDS.length,
    );
    expect(run.queries).toBeGreaterThan(0);
  },
  TIMEOUT_MS,
);

test('the check finds planted losses and doubles', async () => {
  for (const size of Object.values(undisturbed.records))
    expect(size).toBeGreaterThan(20);

  const { accountId } = wave.caller.account;
  const received = await stack.received();
  const [lost, ...rest] = received.filter(
    ({ type, requestId }) =>
      type === 'message.status' && wave.messages.includes(requestId ?? ''),
  );
  await stack.rows(`update network_query set status = 'failed' where id = $1`, [
    wave.steered,
  ]);
  await stack.rows(
    `insert into patient (id, account_id, external_id, first_names, last_names, dob, gender, addresses, facility_ids)
     select gen_random_uuid(), account_id, external_id, '{Pat}', '{Second}', dob, gender, addresses, facility_ids
     from patient where account_id = $1 and external_id = 'monitored-0'`,
    [accountId],
  );
  const doubled = rest.map((line) => ({ ...line, messageId: 'another' }));
  const { faults } = await checkWave(
    stack,
    wave,
    [...received.filter((line) => line !== lost), ...doubled],
    {
      ...undisturbed.records,
      'keith-kiehn': 1,
    },
  );
  // Which of the two messages arrived first is left to the webhooks.
  const planted = [
    `wave 0: query ${wave.steered} is failed`,
    'wave 0: 65 patients, got 66 of 65 persons',
    expect.stringContaining('wave 0: records have'),
    `wave 0: webhook message.status of ${lost?.requestId}: 0 messages`,
    `wave 0: webhook message.status of ${rest[0]?.requestId}: 2 messages`,
  ];
  expect(faults).toEqual(expect.arrayContaining(planted));
  expect(faults).toHaveLength(planted.length);
});
