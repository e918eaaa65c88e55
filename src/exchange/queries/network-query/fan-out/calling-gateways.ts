import type { Store } from '../../../platform/database/database.ts';
import type { StartGuard } from '../../../platform/recovery/start-guard.ts';
import type { SourceConnections } from '../../../sources/connections/connections.ts';
import type { SourceHealth } from '../../../sources/health/source-health.ts';
import type { DeferredAnswerStore } from '../deferred-answers.ts';

/** What a step on gateways works with. */
export interface CallingGateways {
  store: Store;
  connections: Pick<SourceConnections, 'network'>;
  sourceHealth: SourceHealth;
  startGuard: StartGuard;
  deferredAnswers?: DeferredAnswerStore | undefined;
}
