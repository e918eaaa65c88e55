import { appendFileSync } from 'node:fs';
import type { Reporter, SerializedError, TestModule } from 'vitest/node';

/**
 * Ends a run's output with `N passed, N failed`. A file that could not be
 * loaded or set up, and an error that no test caught, count as a failure each.
 * With TEST_COUNTS, the line is also added to that file, after a line for each
 * failure and for each test that passed at its second try (`.ci/run` sums the
 * counts up, and ends with these lines).
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
    if (process.env.TEST_COUNTS === undefined) return;

    const notes = [
      ...modules.flatMap(failuresOf),
      ...modules.flatMap(secondTriesOf),
      ...broken.map((module) => `failed: ${module.relativeModuleId}`),
      ...unhandled.map((error) => `failed: ${beginningOf(error.message)}`),
    ];
    for (const text of [...notes, line])
      appendFileSync(process.env.TEST_COUNTS, `${text}\n`);
  }
}

/** A line for each failed test of a file: its name, and how the error begins. */
function failuresOf(module: TestModule): string[] {
  return [...module.children.allTests('failed')].map((test) => {
    const [error] = test.result().errors ?? [];
    return `failed: ${module.relativeModuleId} > ${test.fullName}: ${beginningOf(error?.message ?? '')}`;
  });
}

/** A line for each test of a file that failed once, and then passed. */
function secondTriesOf(module: TestModule): string[] {
  return [...module.children.allTests('passed')].flatMap((test) =>
    test.diagnostic()?.flaky === true
      ? [`second try: ${module.relativeModuleId} > ${test.fullName}`]
      : [],
  );
}

function beginningOf(message: string): string {
  return message.replace(/\s+/g, ' ').slice(0, 300);
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
