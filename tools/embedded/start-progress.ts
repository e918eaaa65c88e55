import { availableParallelism, loadavg } from 'node:os';
import { type LineStream, LiveLines } from '../../src/lib/live-lines.ts';

/**
 * Receives that a part of the stack is being started; the function that it
 * returns, that the part is ready.
 */
export type StartListener = (part: string) => () => void;

/**
 * Shows the start of a stack part by part: a line with its time for each part
 * that is ready, and what is still awaited. `close` ends the waiting.
 */
export function createStartProgress(stream: LineStream): {
  onStart: StartListener;
  close(): void;
} {
  const live = new LiveLines(stream);
  const starting = new Set<string>();
  const waits = new Set<NodeJS.Timeout>();
  const show = () =>
    live.set(
      'Starting',
      [],
      [...starting].map((what) => ({ what })),
    );
  return {
    onStart(part) {
      const begunAt = performance.now();
      starting.add(part);
      show();
      const late = setTimeout(
        () =>
          live.print(
            `  ${part.padEnd(PART_WIDTH)} not ready after ${LATE_MS / 1_000} s, still waiting: ${(loadavg()[0] ?? 0) > availableParallelism() ? 'the machine is busy' : 'the machine is not busy, so it may hang: see its log in the data folder'}`,
          ),
        LATE_MS,
      ).unref();
      waits.add(late);
      return () => {
        clearTimeout(late);
        starting.delete(part);
        const seconds = ((performance.now() - begunAt) / 1_000).toFixed(1);
        live.print(`  ${part.padEnd(PART_WIDTH)} ready, ${seconds} s`);
        show();
      };
    },
    close() {
      for (const wait of waits) clearTimeout(wait);
      live.discard('Starting');
    },
  };
}

const PART_WIDTH = 18;
const LATE_MS = 30_000;
