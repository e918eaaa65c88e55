import { monitorEventLoopDelay, performance } from 'node:perf_hooks';

/**
 * A sample of a process: how busy its event loop was since the last one, and
 * whether work waits for the database.
 */
export interface PressureSample {
  /** Share of the time in which the event loop was busy. */
  utilization: number;
  /** Mean time that a timer was late. */
  lagMs: number;
  /** Transactions that wait for a connection at the moment. */
  waiting: number;
}

const SAMPLE_MS = 100;
const RESOLUTION_MS = 5;
/**
 * Above both, the event loop is the bottleneck; a machine that is busy with
 * other work causes the second alone.
 */
const UTILIZATION_MAX = 0.9;
const LAG_MAX_MS = 10;

export const isUnderPressure = ({
  utilization,
  lagMs,
  waiting,
}: PressureSample): boolean =>
  (utilization > UTILIZATION_MAX && lagMs > LAG_MAX_MS) || waiting > 0;

/**
 * Looks at this process ten times a second. Returns a function that stops it.
 */
export function watchPressure(
  waitingForConnection: () => number,
  report: (sample: PressureSample) => void,
): () => void {
  const delays = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  delays.enable();
  let before = performance.eventLoopUtilization();
  const timer = setInterval(() => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, before);
    before = now;
    const meanMs = delays.mean / 1e6;
    delays.reset();
    const lagMs = Number.isNaN(meanMs)
      ? SAMPLE_MS
      : Math.max(0, meanMs - RESOLUTION_MS);
    report({ utilization, lagMs, waiting: waitingForConnection() });
  }, SAMPLE_MS);
  timer.unref();
  return () => {
    clearInterval(timer);
    delays.disable();
  };
}
