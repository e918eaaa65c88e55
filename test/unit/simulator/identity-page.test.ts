import { expect, test } from 'vitest';
import { identityPage } from '../../../tools/simulator/partners/identity.ts';

const asked = {
  kind: 'session',
  person: { firstNames: ['Ann'], lastNames: ['<Sample>'], dob: '1980-04-05' },
  returnUrl: 'https://app.example.org/back?session=secret',
  expiresAt: '2026-11-22T10:00:00.000Z',
} as const;

test('the identity page says who is asked, by whom, for what, and what happens next', () => {
  const page = identityPage(asked);
  expect(page).toContain(
    'Ann &lt;Sample&gt;, born 1980-04-05, is asked to confirm who they are.',
  );
  expect(page).toContain('Asked by the application at app.example.org');
  expect(page).toContain('you return to app.example.org');
  expect(page).toContain('nothing is requested');
  expect(page).not.toContain('secret');
});

test('a sign-in, which names no person, addresses the reader', () => {
  expect(
    identityPage({ ...asked, kind: 'challenge', person: undefined }),
  ).toContain('You are asked to sign in with a second factor.');
});
