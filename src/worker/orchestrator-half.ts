import { createEndpointActivities } from '../activities/orchestrator/endpoints.ts';
import { readConfig } from '../config.ts';
import { TASK_QUEUES } from '../contract/temporal.ts';
import { EXCHANGE_ACCESS_VARIABLES, openExchange } from '../orchestrator/exchange-access.ts';
import type { Half } from './half.ts';

/** Throws ConfigError. For a foreign exchange (EXCHANGE_API_KEY) our own token key is not needed. */
export function openOrchestratorHalf(): Half {
  const config = readConfig([...EXCHANGE_ACCESS_VARIABLES, 'ID_HMAC_KEY']);
  const own = config.EXCHANGE_API_KEY === undefined ? readConfig(['INTERNAL_TOKEN_KEY']) : {};
  const exchange = openExchange({ ...config, ...own });
  return {
    activities: {
      [TASK_QUEUES.orchestrator]: createEndpointActivities({
        clientFor: exchange.clientFor,
        idHmacKey: config.ID_HMAC_KEY,
      }),
    },
    close: () => exchange.close(),
  };
}
