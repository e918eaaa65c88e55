/**
 * An activity for each operation of the interface. Workers made by `./worker` host them already; here they are for a worker
 * that is put together by hand.
 */

export type { EndpointActivityDeps, EndpointInput } from '../activities/orchestrator/call-exchange.ts';
export { createEndpointActivities, type EndpointActivities } from '../activities/orchestrator/endpoints.ts';
