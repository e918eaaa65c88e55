import { proxyActivities, setCurrentDetails } from '@temporalio/workflow';
import type { TrustBundleActivities } from '../../../activities/exchange/trust-bundle.ts';
import type {
  TrustBundleRefreshed,
  TrustBundleRefreshInput,
} from '../../../contract/trust-bundle-workflow.ts';

const { refreshTrustBundle } = proxyActivities<TrustBundleActivities>({
  startToCloseTimeout: '10 minutes',
  scheduleToCloseTimeout: '12 hours',
  heartbeatTimeout: '1 minute',
  retry: { initialInterval: '1 minute', maximumInterval: '1 hour' },
  summary: 'Read the trust bundle',
});

/**
 * Reads a trust bundle of Direct from where it is published, and takes its
 * anchors in place of those before.
 *
 * Durable because a bundle that cannot be read now is read later, and because
 * each run is seen with what it changed and refused. Started by a schedule; runs
 * of one bundle do not overlap. A run that fails leaves the anchors as they
 * were. The step may run twice.
 */
export async function trustBundleRefresh({
  bundle,
}: TrustBundleRefreshInput): Promise<TrustBundleRefreshed> {
  setCurrentDetails(`Reading the trust bundle **${bundle}**`);

  const refreshed = await refreshTrustBundle({ bundle });
  setCurrentDetails(detailsOf(bundle, refreshed));
  return refreshed;
}

function detailsOf(
  bundle: string,
  { read, ...counts }: TrustBundleRefreshed,
): string {
  return [
    `**${bundle}: ${read} certificates read**`,
    '',
    ...Object.entries(counts).map(([name, count]) => `- ${name}: ${count}`),
    '',
    `What was refused, and why: \`npm run admin -- bundles show ${bundle}\``,
  ].join('\n');
}
