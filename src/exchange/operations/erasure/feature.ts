import { createErasures, type Erasures, workflowStopper } from '../../platform/erasure/erasures.ts';
import type { DepsOf, Feature, GatewayScopes, OpenFeature } from '../../platform/feature.ts';
import type { Platform } from '../../platform/platform.ts';
import { addErasureRoutes } from './routes.ts';

/** The deletion of a patient, with all that any district has collected about the patient. */
export const erasureFeature = {
  open({ store, blobs, temporal, logger }: Platform): OpenFeature<{ erasures: Erasures }> {
    const erasures = createErasures({ store, blobs, stopWorkflow: workflowStopper(temporal), logger });
    return { services: { erasures }, recoveries: [erasures.recovery], drain: erasures.drain };
  },
  routes: ({ operations }: GatewayScopes, deps: DepsOf<typeof addErasureRoutes>) =>
    addErasureRoutes(operations, deps),
} satisfies Feature;
