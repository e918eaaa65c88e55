import type { DepsOf, Feature, GatewayScopes, OpenFeature } from '../platform/feature.ts';
import type { Platform } from '../platform/platform.ts';
import { createCcdaConverter } from './conversion/ccda/ccda-converter.ts';
import type { ConvertDeps } from './conversion/convert-documents.ts';
import { addLinkRoutes } from './link-routes.ts';
import { createRecordKeeper, type RecordKeeper } from './record-keeper.ts';

/** A patient's consolidated record, and the link to it that webhooks carry. */
export const recordsFeature = {
  open(
    { store, blobs }: Platform,
    services: Pick<ConvertDeps, 'noteIncomplete'>,
  ): OpenFeature<{ records: RecordKeeper }> {
    const keeper = createRecordKeeper({ store, blobs, converter: createCcdaConverter(), ...services });
    return { services: { records: keeper }, recoveries: [], drain: async () => undefined };
  },
  routes: ({ open }: GatewayScopes, deps: DepsOf<typeof addLinkRoutes>) =>
    open((scope) => addLinkRoutes(scope, deps)),
} satisfies Feature;
