import type {
  DepsOf,
  Feature,
  GatewayScopes,
  OpenFeature,
} from '../../platform/feature.ts';
import type { DocumentRenditions } from './renditions.ts';
import { addDocumentLinkRoute, addDocumentRoutes } from './routes.ts';

/**
 * The sources' documents: list, download URLs ("E14. Get document URL"), C-CDA
 * documents as html or pdf.
 */
export const documentsFeature = {
  open: ({
    documentRenditions,
  }: {
    documentRenditions: DocumentRenditions;
  }): OpenFeature => ({
    recoveries: [documentRenditions.recovery],
    drain: documentRenditions.close,
  }),
  routes(
    { operations, open }: GatewayScopes,
    deps: DepsOf<typeof addDocumentRoutes> &
      DepsOf<typeof addDocumentLinkRoute>,
  ) {
    addDocumentRoutes(operations, deps);
    open((scope) => addDocumentLinkRoute(scope, deps));
  },
} satisfies Feature;
