import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import color from 'picocolors';
import { startMixedStack } from './mixed/mixed-stack.ts';
import { renderMarkdown, writeSection } from './mixed/reliability.ts';
import { runMixed } from './mixed/run.ts';

export interface MixedSoakOptions {
  minutes: string;
  seed: string;
  json?: string;
  docs?: true;
  keep?: true;
}

/**
 * `npm run soak -- --minutes 60 --seed 1`: mixed load while one fault after the
 * other befalls a whole stack.
 */
export async function soakMixed(options: MixedSoakOptions): Promise<void> {
  const print = (line: string): void => void process.stdout.write(`${line}\n`);
  const dataDir = await mkdtemp(join(tmpdir(), 'exchange-soak-'));
  const interrupted = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => interrupted.abort());
  print(color.bold(`Starting the stack in ${dataDir} …`));
  const stack = await startMixedStack(dataDir);
  try {
    const { minutes, seed } = {
      minutes: Number(options.minutes),
      seed: Number(options.seed),
    };
    const run = await runMixed(stack, {
      minutes,
      seed,
      signal: interrupted.signal,
      log: print,
    });
    for (const loss of run.losses) print(color.red(`✗ ${loss}`));
    print(renderMarkdown(run));
    if (options.json !== undefined)
      await writeFile(options.json, `${JSON.stringify(run, undefined, 2)}\n`);
    if (options.docs) await writeSection(run);
    if (run.losses.length === 0)
      print(color.green('✓ Nothing lost, doubled or stuck.'));
    process.exitCode = run.losses.length === 0 ? 0 : 1;
  } finally {
    await stack.stop();
    if (options.keep !== true)
      await rm(dataDir, { recursive: true, force: true });
  }
}
