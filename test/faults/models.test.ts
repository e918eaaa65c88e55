import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { MODELS } from './models/models.ts';
import { type ModelStack, startModelStack } from './models/world.ts';

/**
 * The short form of `npm run fuzz -- models`: always the same commands, and no
 * kills, each of which takes seconds. A test that failed is repeated by its
 * name: `npx vitest run test/faults/models.test.ts -t 'query, seed 2'`.
 */
const SEEDS = [1, 2, 3];
const COMMANDS_MAX = 20;
/** Runs follow each other until so many commands were possible. */
const COMMANDS_MIN = 6;

let dataDir: string;
let stack: ModelStack;
beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'exchange-models-'));
  stack = await startModelStack(dataDir);
});
afterAll(async () => {
  await stack?.stop();
  await rm(dataDir, { recursive: true, force: true });
});

test.each(
  Object.keys(MODELS).flatMap((name) =>
    SEEDS.map((seed): [string, number] => [name, seed]),
  ),
)(
  '%s, seed %i: after each of random commands its caller sees what a model expects',
  async (name, seed) => {
    const run = await MODELS[name]?.(stack, {
      seed,
      kills: false,
      commandsMax: COMMANDS_MAX,
      isOver: ({ commands }) => commands >= COMMANDS_MIN,
    });
    expect(run?.commands).toBeGreaterThanOrEqual(COMMANDS_MIN);
  },
);
