import { type Feature, type GatewayScopes, NOTHING_OPEN } from '../../platform/feature.ts';
import { addFacilityRoutes } from './routes.ts';

/** Facilities: E11 and their administration. */
export const facilitiesFeature = {
  open: NOTHING_OPEN,
  routes: ({ operations }: GatewayScopes) => addFacilityRoutes(operations),
} satisfies Feature;
