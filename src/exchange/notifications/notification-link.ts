import type { LinkMaker } from '../platform/links/signed-link.ts';

/** interface-decisions.md, Webhooks out. */
const LINK_LIFETIME_MS = 600_000;

/** Link to the Bundle of a notification; whoever holds it may read for ten minutes. */
export const notificationUrl = (
  links: LinkMaker,
  { accountId, notificationId }: { accountId: string; notificationId: string },
): string => links.url('encounter', { accountId, targetId: notificationId }, LINK_LIFETIME_MS);
