import { appendFileSync } from 'node:fs';
import type { Reporter, SerializedError, TestModule } from 'vitest/node';

/**
 * Ends a run's output with `N passed, N failed`. A file that could not be
 * loaded or set up, and an error that no test caught, count as a failure each.
 * With TEST_COUNTS, the line is also added to that file (`.ci/run` sums them
 * up).
 */
export class CountReporter implements Reporter {
  onTestRunEnd(
    modules: readonly TestModule[],
    unhandled: readonly SerializedError[],
  ): void {
    const tests = modules.map((module) =>
      [...module.children.allTests()].map((test) => test.result().state),
    );
    const count = (state: string) =>
      tests.flat().filter((found) => found === state).length;
    const broken = modules.filter(
      (module, index) =>
        module.state() === 'failed' && !tests[index]?.includes('failed'),
    );
    const failed = count('failed') + broken.length + unhandled.length;
    const line = `${count('passed')} passed, ${failed} failed`;
    for (const text of [...modules.flatMap(skippedIn), line])
      process.stdout.write(`${text}\n`);
    if (process.env.TEST_COUNTS !== undefined)
      appendFileSync(process.env.TEST_COUNTS, `${line}\n`);
  }
}

/**
 * What a file left out: how many tests, and the reason where a test gave one.
 */
function skippedIn(module: TestModule): string[] {
  const results = [...module.children.allTests()].map((test) => test.result());
  const skipped = results.filter(({ state }) => state === 'skipped');
  const notes = new Set(
    skipped.flatMap((result) =>
      'note' in result && result.note ? [result.note] : [],
    ),
  );
  const why = notes.size === 0 ? '' : ` (${[...notes].join('; ')})`;
  return skipped.length === 0
    ? []
    : [`${skipped.length} skipped in ${module.relativeModuleId}${why}`];
}
