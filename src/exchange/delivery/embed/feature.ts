import { addEmbedTokenRoutes } from '../../access/embed-tokens/embed-token.ts';
import {
  type DepsOf,
  type Feature,
  type GatewayScopes,
  NOTHING_OPEN,
} from '../../platform/feature.ts';
import { addEmbedDataRoutes } from './data-routes.ts';
import { addEmbedPageRoutes } from './page-routes.ts';

/**
 * Embedding: embed tokens (E1), and the page that shows one patient inside a
 * customer's application.
 */
export const embedFeature = {
  open: NOTHING_OPEN,
  routes(
    { operations, authenticated, open }: GatewayScopes,
    deps: DepsOf<typeof addEmbedTokenRoutes> &
      DepsOf<typeof addEmbedDataRoutes> &
      DepsOf<typeof addEmbedPageRoutes>,
  ) {
    addEmbedTokenRoutes(operations, deps);
    authenticated((scope) => addEmbedDataRoutes(scope, deps));
    open((scope) => addEmbedPageRoutes(scope, deps));
  },
} satisfies Feature;
