import {
  type DepsOf,
  type Feature,
  type GatewayScopes,
  NO_ACTIVITIES,
  type OpenFeature,
} from '../../platform/feature.ts';
import type { Platform } from '../../platform/platform.ts';
import { createErasures, type Erasures, workflowStopper } from './erasures.ts';
import { addPatientRoutes } from './routes.ts';
import { searchIndexing } from './search-indexing.ts';

/** Patients: E4, matching, consent, and deletion including all collected data. */
export const patientsFeature = {
  open({ store, blobs, temporal, logger }: Platform): OpenFeature<{ erasures: Erasures }> {
    const erasures = createErasures({ store, blobs, stopWorkflow: workflowStopper(temporal), logger });
    return {
      services: { erasures },
      recoveries: [erasures.recovery, searchIndexing({ store })],
      drain: erasures.drain,
    };
  },
  routes: ({ operations }: GatewayScopes, deps: DepsOf<typeof addPatientRoutes>) =>
    addPatientRoutes(operations, deps),
  activities: NO_ACTIVITIES,
} satisfies Feature;
