import { ApplicationFailure } from '@temporalio/activity';
import type {
  TrustBundleRefreshed,
  TrustBundleRefreshInput,
} from '../../contract/trust-bundle-workflow.ts';
import { refreshBundle } from '../../exchange/messaging/messages/direct/trust-bundles/refresh-bundle.ts';
import type { Platform } from '../../exchange/platform/platform.ts';
import { OriginUnreadable } from '../../exchange/sources/directory/read-origin.ts';
import { withHeartbeat } from './heartbeat.ts';

export type TrustBundleActivities = ReturnType<
  typeof createTrustBundleActivities
>;

const HEARTBEAT_EVERY_MS = 10_000;

export const createTrustBundleActivities = ({
  store,
}: Pick<Platform, 'store'>) => ({
  /** Reads a trust bundle from its origin; a later try begins anew. */
  refreshTrustBundle: ({
    bundle,
  }: TrustBundleRefreshInput): Promise<TrustBundleRefreshed> =>
    withHeartbeat(
      { everyMs: HEARTBEAT_EVERY_MS, toFailure: describeUnreadable },
      async (signal) => {
        const refreshed = await refreshBundle(store, bundle, signal);
        if (refreshed !== undefined) return refreshed;
        throw ApplicationFailure.nonRetryable('The trust bundle was deleted');
      },
    ),
});

const describeUnreadable = (error: unknown): unknown =>
  error instanceof OriginUnreadable
    ? ApplicationFailure.create({
        message: `The trust bundle cannot be refreshed, its anchors stay: ${error.message}`,
        nonRetryable: !error.mayPass,
      })
    : error;
