import {
  type DepsOf,
  type Feature,
  type GatewayScopes,
  NO_ACTIVITIES,
  type OpenFeature,
} from '../platform/feature.ts';
import type { Platform } from '../platform/platform.ts';
import { createCcdaConverter } from './ccda/ccda-converter.ts';
import { addLinkRoutes } from './link-routes.ts';
import { createRecordKeeper, type RecordKeeper } from './record-keeper.ts';

/** A patient's consolidated record, and the link to it that webhooks carry. */
export const recordsFeature = {
  open({ store, blobs }: Platform): OpenFeature<{ records: RecordKeeper }> {
    const keeper = createRecordKeeper({ store, blobs, converter: createCcdaConverter() });
    return { services: { records: keeper }, recoveries: [], drain: async () => undefined };
  },
  routes: ({ open }: GatewayScopes, deps: DepsOf<typeof addLinkRoutes>) =>
    open((scope) => addLinkRoutes(scope, deps)),
  activities: NO_ACTIVITIES,
} satisfies Feature;
