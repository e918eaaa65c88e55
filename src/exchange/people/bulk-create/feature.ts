import type {
  DepsOf,
  Feature,
  GatewayScopes,
  OpenFeature,
} from '../../platform/feature.ts';
import type { Platform } from '../../platform/platform.ts';
import { bulkCreateRecoveries, uploadRetention } from './recovery.ts';
import {
  addBulkCreateRoutes,
  addBulkResultRoute,
  addBulkUploadRoute,
} from './routes.ts';
import type { createBulkCreateService } from './service.ts';

/** Bulk patient creates: E5, the upload of the CSV, the result CSV. */
export const bulkCreateFeature = {
  open({
    bulkCreates,
    ...platform
  }: Platform & {
    bulkCreates: ReturnType<typeof createBulkCreateService>;
  }): OpenFeature {
    const deps = { ...platform, launcher: bulkCreates.launcher };
    return {
      recoveries: [...bulkCreateRecoveries(deps), uploadRetention(deps)],
      drain: bulkCreates.drain,
    };
  },
  routes(
    { operations, authenticated, open }: GatewayScopes,
    deps: DepsOf<typeof addBulkCreateRoutes> &
      DepsOf<typeof addBulkUploadRoute> &
      DepsOf<typeof addBulkResultRoute>,
  ) {
    addBulkCreateRoutes(operations, deps);
    authenticated((scope) => addBulkUploadRoute(scope, deps));
    open((scope) => addBulkResultRoute(scope, deps));
  },
} satisfies Feature;
