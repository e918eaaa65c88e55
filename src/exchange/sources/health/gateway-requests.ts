import { Counter, type Registry } from 'prom-client';
import { SOURCE_TYPES } from '../../../contract/primitives.ts';
import {
  type CountGatewayRequest,
  GATEWAY_TRANSACTIONS,
} from '../connectors/ihe/gateway.ts';

/**
 * Counts the requests of this process to gateways that speak IHE. The
 * connections of accounts count for their source: their ids must not become
 * label values.
 */
export function countGatewayRequests(metrics: Registry): CountGatewayRequest {
  const requests = new Counter({
    name: 'gateway_requests_total',
    help: 'Requests to gateways that speak IHE, by source, transaction and outcome',
    labelNames: ['source', 'transaction', 'outcome'] as const,
    registers: [metrics],
  });
  // From the start, so that the first failure is an increase too.
  for (const source of SOURCE_TYPES)
    for (const transaction of GATEWAY_TRANSACTIONS)
      requests.inc({ source, transaction, outcome: 'transport' }, 0);
  return (source, transaction, outcome) =>
    requests.inc({ source, transaction, outcome });
}
