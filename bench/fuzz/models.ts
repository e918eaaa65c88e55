import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MODELS } from '../../test/faults/models/models.ts';
import { startModelStack } from '../../test/faults/models/world.ts';

export interface ModelOptions {
  minutes: number;
  seed: number;
  model: string;
  commands: number;
}

export const MODEL_NAMES = Object.keys(MODELS);

/**
 * Carries out random commands on a whole stack for as long as asked, the models
 * by turns. Sets the exit code, and keeps the data folder with all logs, when
 * the exchange differs from a model.
 */
export async function fuzzModels(
  options: ModelOptions,
  print: (line: string) => void,
): Promise<void> {
  const models = Object.entries(MODELS).filter(([name]) =>
    name.includes(options.model),
  );
  if (models.length === 0)
    throw new Error(`No model is called ${options.model}`);
  const dataDir = await mkdtemp(join(tmpdir(), 'exchange-models-'));
  const untilMs = Date.now() + options.minutes * 60_000;
  const stack = await startModelStack(dataDir);
  const differing = new Set<string>();
  try {
    for (
      let round = 0;
      Date.now() < untilMs && differing.size < models.length;
      round += 1
    )
      for (const [name, check] of models) {
        if (differing.has(name)) continue;
        const seed = options.seed + round;
        try {
          const { commands } = await check(stack, {
            seed,
            commandsMax: options.commands,
            kills: true,
            isOver: ({ runs }) => runs > 0,
          });
          print(`${name}, seed ${seed}: ${commands} commands as expected`);
        } catch (error) {
          differing.add(name);
          const { message, cause } = error as Error;
          print(
            `${name}, seed ${seed}: ${message}\n${cause instanceof Error ? cause.message : ''}`,
          );
        }
      }
  } finally {
    await stack.stop();
    if (differing.size === 0)
      await rm(dataDir, { recursive: true, force: true });
    else print(`The data folder with all logs is kept: ${dataDir}`);
  }
  if (differing.size > 0) process.exitCode = 1;
}
