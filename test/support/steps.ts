import type { Profiler } from 'node:inspector';
import { Session } from 'node:inspector';

/**
 * Counts the blocks of JavaScript that `work` runs through, its libraries
 * included: the same on every machine and at any load. What runs inside one call
 * of the engine, such as a regular expression or a copy of a list, is one step.
 */
export function stepsOf(work: () => unknown): number {
  const session = new Session();
  session.connect();
  try {
    session.post('Profiler.enable');
    session.post('Profiler.startPreciseCoverage', {
      callCount: true,
      detailed: true,
    });
    take(session);
    work();
    return take(session);
  } finally {
    session.disconnect();
  }
}

/** The steps since the last call. */
function take(session: Session): number {
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
