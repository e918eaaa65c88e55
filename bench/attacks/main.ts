import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command } from 'commander';
import { startTestStack } from '../../test/support/stack.ts';
import { hostileAgent } from './agents.ts';
import {
  deepAnswer,
  encodedAnswers,
  strayToken,
} from './answers-of-sources.ts';
import { type Attack, healthMs } from './attack.ts';
import { removedHead } from './audit-head.ts';
import { floodOfOneAccount } from './flood-of-one-account.ts';
import { hl7Messages } from './hl7-messages.ts';
import { startHostileSource } from './hostile-source.ts';
import { foreignIdempotencyKey } from './idempotency-keys.ts';
import { localUser } from './local-user.ts';
import { oversizedAnswers } from './oversized-answers.ts';
import { emptyEntries, growingPatient } from './oversized-requests.ts';
import { slowConversions } from './slow-conversions.ts';
import {
  innerDestinations,
  oldSignature,
  putInsteadOfPost,
  unknownKeys,
} from './strangers.ts';
import { wordsOfCallers } from './words-of-callers.ts';

/**
 * What once stopped, starved or read the service. The last one leaves the audit
 * of its account without a head.
 */
const ATTACKS: readonly Attack[] = [
  encodedAnswers,
  deepAnswer,
  strayToken,
  ...oversizedAnswers,
  emptyEntries,
  growingPatient,
  wordsOfCallers,
  hl7Messages,
  slowConversions,
  floodOfOneAccount,
  hostileAgent,
  localUser,
  foreignIdempotencyKey,
  unknownKeys,
  oldSignature,
  innerDestinations,
  putInsteadOfPost,
  removedHead,
];

const { only } = new Command('npm run attacks --')
  .description(
    'Repeats attacks that once stopped, starved or read the service on a stack made for them.',
  )
  .option('--only <words>', 'only attacks whose name contains this')
  .parse()
  .opts<{ only?: string }>();
const print = (line: string) => void process.stdout.write(`${line}\n`);

const dataDir = await mkdtemp(join(tmpdir(), 'attacks-'));
const source = await startHostileSource();
let failed = 0;
try {
  const stack = await startTestStack({
    dataDir,
    outside: { sources: source.environment },
  });
  try {
    const target = { stack, source, account: await stack.addAccount() };
    for (const { name, run } of ATTACKS.filter(
      (each) => only === undefined || each.name.includes(only),
    )) {
      const { seen, holds } = await run(target).catch((error: unknown) => ({
        seen: String(error),
        holds: false,
      }));
      const isAlive = await healthMs(target).then(
        () => true,
        () => false,
      );
      print(
        `${holds && isAlive ? 'holds ' : 'BROKEN'}  ${name}\n        ${seen}`,
      );
      failed += Number(!holds || !isAlive);
    }
  } finally {
    await stack.stop();
  }
} finally {
  await source.close();
  await rm(dataDir, { recursive: true, force: true });
}
process.exitCode = failed === 0 ? 0 : 1;
