import { expect, test } from 'vitest';
import { LiveLines } from '../../../src/lib/live-lines.ts';
import {
  createLinkPrinter,
  pageOf,
} from '../../../src/starter/commands/report-onboarding.ts';
import { onboardingView } from '../../../src/starter/progress/onboarding-view.ts';

const URLS = [
  'https://identity.example.org/verify/1',
  `https://identity.example.org/verify/${'2'.repeat(120)}`,
];
const viewOf = (
  state: 'to-verify' | 'to-confirm' | 'confirmed',
  url?: string,
) =>
  onboardingView({
    queries: new Map(),
    status: {
      phase: 'proving-identity',
      cohorts: [],
      requestIds: [],
      sources: [],
      webhooksReceived: 0,
      polls: 0,
      intakes: 0,
      deadlineAt: '2026-12-31T00:00:00.000Z',
      identity: { state, url, expiresAt: '2026-11-28T12:00:00.000Z' },
    },
  });

test('each page that the person is to open is told once and whole, however narrow the terminal is', () => {
  let written = '';
  const live = new LiveLines({
    isTTY: true,
    columns: 40,
    rows: 24,
    write: (text) => (written += text),
  });
  const tell = createLinkPrinter(live);
  const views = [
    viewOf('to-verify', URLS[0]),
    viewOf('to-confirm', URLS[1]),
    viewOf('confirmed'),
  ];
  const news = views.flatMap((view) => [
    tell('someone', view),
    tell('someone', view),
  ]);
  expect(news).toEqual([
    URLS[0],
    undefined,
    URLS[1],
    undefined,
    undefined,
    undefined,
  ]);
  for (const url of URLS) expect(written.split(url)).toHaveLength(2);
});

test('an onboarding that has ended has no page to open', () => {
  const running = viewOf('to-verify', URLS[0]);
  expect(pageOf(running)?.text).toContain(
    'works until 2026-11-28T12:00:00.000Z',
  );
  expect(pageOf({ ...running, identity: undefined })).toBeUndefined();
});
