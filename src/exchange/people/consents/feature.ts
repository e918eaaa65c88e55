import { type Feature, type GatewayScopes, NOTHING_OPEN } from '../../platform/feature.ts';
import { addConsentRoutes } from './routes.ts';

/** Consents of patients, which decide whether sources are asked about them. */
export const consentsFeature = {
  open: NOTHING_OPEN,
  routes: ({ operations }: GatewayScopes) => addConsentRoutes(operations),
} satisfies Feature;
