/**
 * An activity for each operation of the interface. Workers created with
 * `./worker` host them already; import them only for a worker that you assemble
 * yourself.
 */

export type {
  EndpointActivityDeps,
  EndpointInput,
} from '../activities/orchestrator/call-exchange.ts';
export {
  createEndpointActivities,
  type EndpointActivities,
} from '../activities/orchestrator/endpoints.ts';
