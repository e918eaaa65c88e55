import type { LiveLines } from '../progress/live-lines.ts';
import type { OnboardingView } from '../progress/onboarding-view.ts';

type Identity = NonNullable<OnboardingView['identity']>;

/** The page that a person is to open next; undefined when there is none. */
export function pageOf({ identity }: OnboardingView): { url: string; told: string } | undefined {
  if (identity?.url === undefined) return undefined;
  const { url, state, expiresAt } = identity;
  const until = expiresAt === undefined ? '' : ` (works until ${expiresAt})`;
  return { url, told: `${WHAT[state]}${until}: ${url}` };
}

const WHAT: Readonly<Record<Identity['state'], string>> = {
  'to-verify': 'for the person alone, to verify who they are',
  'to-confirm': 'for the person alone, to show two factors',
  confirmed: 'confirmed',
};

/** Tells each page once: whole, on a line of its own, for it must be copied or clicked. Returns whether it is a new one. */
export function createLinkTeller(
  live: LiveLines,
): (label: string, view: OnboardingView) => string | undefined {
  const told = new Set<string>();
  return (label, view) => {
    const page = pageOf(view);
    if (page === undefined || told.has(page.url)) return undefined;
    told.add(page.url);
    live.print(`${label}: ${page.told}`);
    return page.url;
  };
}
