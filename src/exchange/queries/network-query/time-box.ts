/** How long a step on a source does new work. */
const TIME_BOX_MS = 150_000;

/**
 * The time of one step: it stores what it has and is repeated when `isOver`,
 * asked after each unit of work (a page, a document, a check). So a step always
 * ends long before Temporal would end it, however slow its source is, and none
 * holds a worker's place while others wait.
 *
 * The time begins with the first answer of `isOver`, and is at least as long as
 * it took to get there: what an earlier step did may have to be read again to
 * go on after it, such as the beginning of a large file.
 *
 * @param clock default: the system clock
 */
export function createTimeBox(clock: () => Date = () => new Date()): {
  isOver(): boolean;
} {
  const openedMs = clock().getTime();
  let begunMs: number | undefined;
  return {
    isOver() {
      const nowMs = clock().getTime();
      begunMs ??= nowMs;
      return nowMs - begunMs >= Math.max(TIME_BOX_MS, begunMs - openedMs);
    },
  };
}
