import {
  type Feature,
  NO_ROUTES,
  type OpenFeature,
} from '../../platform/feature.ts';
import type { Platform } from '../../platform/platform.ts';
import { RETENTION_KINDS } from './kinds.ts';
import { retentionSweep } from './sweep.ts';

/**
 * Removes what is older than the operator's rules; without rules everything is
 * kept.
 */
export const retentionFeature = {
  open: ({ store }: Pick<Platform, 'store'>): OpenFeature => ({
    recoveries: RETENTION_KINDS.map((kind) => retentionSweep(store, kind)),
    drain: async () => undefined,
  }),
  routes: NO_ROUTES,
} satisfies Feature;
