import { type Profiler, Session } from 'node:inspector';

/**
 * Blocks are counted of functions that are compiled from here on only: a test
 * file that counts is named in COUNTING of vitest.config.ts.
 */
const session = startCounting();

/**
 * Counts the blocks of JavaScript that `work` runs through, its libraries
 * included: the same on every machine and at any load. What runs inside one call
 * of the engine, such as a regular expression or a copy of a list, is one step.
 * Functions that ran before this module was imported count once for each call.
 */
export function stepsOf(work: () => unknown): number {
  takeSteps();
  work();
  return takeSteps();
}

function startCounting(): Session {
  const started = new Session();
  started.connect();
  started.post('Profiler.enable');
  started.post('Profiler.startPreciseCoverage', {
    callCount: true,
    detailed: true,
  });
  return started;
}

/** The steps since the last call. */
function takeSteps(): number {
  let steps = 0;
  session.post(
    'Profiler.takePreciseCoverage',
    (_, taken: Profiler.TakePreciseCoverageReturnType) => {
      for (const { functions } of taken.result)
        for (const { ranges } of functions)
          for (const { count } of ranges) steps += count;
    },
  );
  return steps;
}
