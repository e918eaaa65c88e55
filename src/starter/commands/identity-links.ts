import type { LiveLines } from '../../lib/live-lines.ts';
import type { OnboardingView } from '../progress/onboarding-view.ts';

type Identity = NonNullable<OnboardingView['identity']>;

/** The page that the patient must open next, with a text for the terminal; undefined when there is none. */
export function pageOf({ identity }: OnboardingView): { url: string; text: string } | undefined {
  if (identity?.url === undefined) return undefined;
  const { url, state, expiresAt } = identity;
  const until = expiresAt === undefined ? '' : ` (works until ${expiresAt})`;
  return { url, text: `${PURPOSES[state]}${until}: ${url}` };
}

const PURPOSES: Readonly<Record<Identity['state'], string>> = {
  'to-verify': 'link for the patient, to verify their identity',
  'to-confirm': 'link for the patient, to sign in with two factors',
  confirmed: 'confirmed',
};

/**
 * Prints each page once, uncut and on a line of its own, so that it can be copied or clicked. The function returns the
 * address of a page that it has just printed, else undefined.
 */
export function createLinkPrinter(
  live: LiveLines,
): (label: string, view: OnboardingView) => string | undefined {
  const printed = new Set<string>();
  return (label, view) => {
    const page = pageOf(view);
    if (page === undefined || printed.has(page.url)) return undefined;
    printed.add(page.url);
    live.print(`${label}: ${page.text}`);
    return page.url;
  };
}
