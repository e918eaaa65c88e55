import { Runtime } from '@temporalio/worker';
import type { Logger } from '../lib/logger.ts';
import { createSdkLogger } from './sdk-logger.ts';

/**
 * Configures the SDK's runtime. Call it once in each process that runs workers, before using the SDK. All logs, including
 * those of the native core, go to our logger. Our own shutdown handles process signals, because it also closes resources
 * that the SDK does not know. With `metricsAddress` (host:port), the SDK serves its metrics there (slots, pollers, latencies).
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
