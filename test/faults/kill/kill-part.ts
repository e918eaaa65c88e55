import type { TestStack } from '../../support/stack.ts';
import type { Killable } from './holds.ts';
import { until } from './until.ts';

const RESTART_TIMEOUT_MS = 180_000;

/** SIGKILL; resolves when the supervisor has the part running again. */
export async function killPart(
  { stack }: TestStack,
  part: Killable | 'worker-background',
  afterKill: () => Promise<void> = async () => undefined,
): Promise<void> {
  const pid = stack.pids()[part];
  if (pid === undefined) throw new Error(`${part} is not running`);
  process.kill(pid, 'SIGKILL');
  await afterKill();
  const runs = await until(async () => stack.pids()[part] !== pid, {
    timeoutMs: RESTART_TIMEOUT_MS,
  });
  if (!runs) throw new Error(`${part} was not started again`);
}
