import { SEARCH_ATTRIBUTES } from '../../src/contract/temporal.ts';
import {
  type RunningTemporalServer,
  startTemporalServer,
} from '../../tools/embedded/temporal-server.ts';

/**
 * Once per vitest run (global-setup.ts): a development server with our search
 * attributes. Tests get its address by `inject('temporalAddress')` (namespace
 * `default`) and share it: use task queues and workflow ids of your own.
 */
export const startTestTemporalServer = (
  dataDir: string,
): Promise<RunningTemporalServer> =>
  startTemporalServer({
    dataDir,
    searchAttributes: SEARCH_ATTRIBUTES,
    // Operators of other servers can pause workflows.
    dynamicConfig: { 'frontend.WorkflowPauseEnabled': 'true' },
  });
