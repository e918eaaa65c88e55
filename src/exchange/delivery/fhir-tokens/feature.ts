import { type DepsOf, type Feature, type GatewayScopes, NOTHING_OPEN } from '../../platform/feature.ts';
import { addTokenRoutes } from './token-routes.ts';

/** Clients of the FHIR API with keys of their own: SMART Backend Services (docs/fhir.md). */
export const fhirClientsFeature = {
  open: NOTHING_OPEN,
  routes: ({ open }: GatewayScopes, deps: DepsOf<typeof addTokenRoutes>) =>
    open((scope) => addTokenRoutes(scope, deps)),
} satisfies Feature;
