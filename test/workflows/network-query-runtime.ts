import { createLogger } from '../../src/lib/logger.ts';
import { installTemporalRuntime } from '../../src/temporal/runtime.ts';

let installed = false;

/** Once per test file: failures are what these tests are about, so they are not logged. */
export function installTestRuntime(): void {
  if (!installed) installTemporalRuntime(createLogger('test', 'fatal'));
  installed = true;
}
