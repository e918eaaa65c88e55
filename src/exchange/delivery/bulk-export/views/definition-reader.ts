import type { Json } from '#record-summary/fhir';
import { checkDefinition, ViewError } from '#sql-on-fhir';
import { createFairThreads } from '../../../../lib/job-thread.ts';
import { QueueFullError } from '../../../../lib/lanes.ts';
import { OverloadError } from '../../../platform/errors.ts';
import type { PlannedView } from '../rules/view-run.ts';
import type { DefinitionAnswer, DefinitionJob } from './definition-thread.ts';

const THREAD = new URL('./definition-thread.ts', import.meta.url);
const LIMITS = { heapMb: 128, timeoutMs: 10_000, idleMs: 60_000 };
const QUEUE = { atOnce: 1, ofOneAtOnce: 1, waiting: 32, ofOneWaiting: 4 };

/**
 * Reads the definitions that callers wrote in a thread with limited heap and
 * time: the gateway keeps responding meanwhile, whatever a definition is.
 */
export function createDefinitionReader(limits = LIMITS) {
  const threads = createFairThreads<DefinitionJob, DefinitionAnswer>(
    THREAD,
    limits,
    QUEUE,
  );
  return {
    /**
     * What the tables of the definitions will be, in their order.
     *
     * @throws ViewError in one sentence, OverloadError (503) when too many wait
     */
    async read(
      accountId: string,
      definitions: readonly Json[],
    ): Promise<PlannedView[]> {
      if (definitions.length === 0) return [];
      const job = definitions.map(checkDefinition);
      const end = await threads
        .run(accountId, async () => job)
        .catch((error: unknown) => {
          if (error instanceof QueueFullError) throw busy();
          throw error;
        });
      if (end.kind === 'broken' && end.isStarved) throw busy();
      if (end.kind === 'broken')
        throw new ViewError(
          'The views take too long to read; make them smaller',
        );
      if ('fault' in end.answer) throw new ViewError(end.answer.fault);
      return end.answer.views;
    },
    close: () => threads.close(),
  };
}

const busy = () =>
  new OverloadError(
    'gateway',
    'Too many views are being read at the moment; try again shortly',
  );
