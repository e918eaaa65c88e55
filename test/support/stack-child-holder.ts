import { startNodeProcess } from '../../tools/embedded/child-process.ts';

// Starts stack-child.ts as a supervisor does; the tests kill this process.

const [, , dataDir = ''] = process.argv;
const { pid } = await startNodeProcess({
  name: 'child',
  entry: `file:${new URL('./stack-child.ts', import.meta.url).pathname}`,
  dataDir,
  env: {},
});
process.send?.({ pid });
