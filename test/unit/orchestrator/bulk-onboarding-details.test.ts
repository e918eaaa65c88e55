import { expect, test } from 'vitest';
import { bulkOnboardingDetails } from '../../../src/workflows/orchestrator/bulk-onboarding/details.ts';

test('Temporal’s page of a bulk onboarding names every count in a line, because it shows no tables', () => {
  const details = bulkOnboardingDetails({
    phase: 'processing',
    dryRun: false,
    fileSha256: 'a'.repeat(64),
    requestIds: ['3f0c3f5e-5a0e-4a2e-8f67-8ad1e0e6a001'],
    paused: false,
    counts: { rows: 40, handled: 30, created: 17, updated: 9, failed: 4 },
    webhooksReceived: 2,
    polls: 3,
    deadlineAt: '2026-12-06T08:00:00.000Z',
  });

  expect(details).toContain('Created: 17. Updated: 9. Failed: 4.');
  expect(details).toContain('30 of 40 rows');
  expect(details).not.toContain('|');
});
