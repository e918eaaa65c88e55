import { type DepsOf, type Feature, type GatewayScopes, NOTHING_OPEN } from '../../platform/feature.ts';
import { addJwksRoute } from './routes.ts';

/** Connections to sources: their keys, tokens and settings. */
export const sourceConnectionsFeature = {
  open: NOTHING_OPEN,
  routes: ({ open }: GatewayScopes, deps: DepsOf<typeof addJwksRoute>) =>
    open((scope) => addJwksRoute(scope, deps)),
} satisfies Feature;
