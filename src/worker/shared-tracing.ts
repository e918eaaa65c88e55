import { createLogger } from '../lib/logger.ts';
import { installTracer, type Tracer } from '../lib/tracing/spans.ts';
import { startTracing } from '../lib/tracing/start-tracing.ts';

let shared: { tracer: Promise<Tracer | undefined>; workers: number } | undefined;

/**
 * Switches traces on for workers in a process that is not ours, and returns what a worker calls at its end: the last one sends
 * what is left. Throws ConfigError if a variable is invalid.
 */
export async function shareTracing(serviceName: string): Promise<() => Promise<void>> {
  shared ??= { tracer: startTracing(serviceName, createLogger(serviceName)), workers: 0 };
  const mine = shared;
  mine.workers += 1;
  const leave = async () => {
    mine.workers -= 1;
    if (mine.workers > 0) return;
    shared = undefined;
    installTracer(undefined);
    await mine.tracer.then(
      (tracer) => tracer?.stop(),
      () => undefined,
    );
  };
  await mine.tracer.catch(async (error: unknown) => {
    await leave();
    throw error;
  });
  return leave;
}
