import { readConfig } from '../../config.ts';
import type { Logger } from '../logger.ts';
import { TRACE_VARIABLES, tracingConfig } from './config.ts';
import { installTracer, type Tracer } from './spans.ts';

/**
 * Switches traces on if the environment names where to send them; else nothing
 * of OpenTelemetry is loaded.
 */
export async function startTracing(
  processName: string,
  logger: Logger,
): Promise<Tracer | undefined> {
  const config = tracingConfig(readConfig(TRACE_VARIABLES));
  if (config === undefined) return undefined;
  const { createTracer } = await import('./open-telemetry.ts');
  const tracer = createTracer(processName, config, logger);
  installTracer(tracer);
  return tracer;
}
