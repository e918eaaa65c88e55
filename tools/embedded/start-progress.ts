import { type LineStream, LiveLines } from '../../src/lib/live-lines.ts';

/** Receives that a part of the stack is being started; the function that it returns, that the part is ready. */
export type StartListener = (part: string) => () => void;

/**
 * Shows the start of a stack part by part: a line with its time for each part that is ready, and what is still awaited.
 * `close` ends the waiting.
 */
export function createStartProgress(stream: LineStream): { onStart: StartListener; close(): void } {
  const live = new LiveLines(stream);
  const starting = new Set<string>();
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
      return () => {
        starting.delete(part);
        const seconds = ((performance.now() - begunAt) / 1_000).toFixed(1);
        live.print(`  ${part.padEnd(PART_WIDTH)} ready, ${seconds} s`);
        show();
      };
    },
    close: () => live.discard('Starting'),
  };
}

const PART_WIDTH = 18;
