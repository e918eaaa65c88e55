import {
  type Feature,
  NO_ROUTES,
  type OpenFeature,
} from '../../platform/feature.ts';
import type { Platform } from '../../platform/platform.ts';
import { createSourceHealth, type SourceHealth } from './source-health.ts';

/** Breakers and pauses of the connections to sources. */
export const sourceHealthFeature = {
  open: ({ store }: Platform): OpenFeature<{ sourceHealth: SourceHealth }> => ({
    services: { sourceHealth: createSourceHealth(store) },
    recoveries: [],
    drain: async () => undefined,
  }),
  routes: NO_ROUTES,
} satisfies Feature;
