import {
  type DepsOf,
  type Feature,
  type GatewayScopes,
  NOTHING_OPEN,
} from '../../platform/feature.ts';
import {
  addIdentityCallbackRoute,
  addIdentityReturnRoutes,
  addIdentityRoutes,
} from './routes.ts';

/**
 * Identity sessions and AAL2 challenges for Individual Access Services (purpose
 * `ias`).
 */
export const identityFeature = {
  open: NOTHING_OPEN,
  routes(
    { operations, open }: GatewayScopes,
    deps: DepsOf<typeof addIdentityRoutes> &
      DepsOf<typeof addIdentityCallbackRoute> &
      DepsOf<typeof addIdentityReturnRoutes>,
  ) {
    addIdentityRoutes(operations, deps);
    open((scope) => addIdentityCallbackRoute(scope, deps));
    open((scope) => addIdentityReturnRoutes(scope, deps));
  },
} satisfies Feature;
