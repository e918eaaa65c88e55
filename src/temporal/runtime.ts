import { Runtime } from '@temporalio/worker';
import type { Logger } from '../lib/logger.ts';
import { createSdkLogger } from './sdk-logger.ts';

/**
 * Once per process that runs workers, before anything else of the SDK: its logs, those of the native core included,
 * go through ours; signals are left to our own shutdown, which also closes what the SDK does not know of.
 * With `metricsAddress` (host:port) the SDK serves its own metrics there (slots, pollers, latencies by task queue).
 */
export function installTemporalRuntime(logger: Logger, metricsAddress?: string): Runtime {
  return Runtime.install({
    logger: createSdkLogger(logger.child({ component: 'temporal' })),
    shutdownSignals: [],
    telemetryOptions: {
      logging: { filter: { core: 'WARN', other: 'ERROR' }, forward: {} },
      ...(metricsAddress === undefined ? {} : { metrics: prometheusAt(metricsAddress) }),
    },
  });
}

const prometheusAt = (bindAddress: string) => ({
  prometheus: { bindAddress, useSecondsForDurations: true, unitSuffix: true, countersTotalSuffix: true },
});
