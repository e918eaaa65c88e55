import type { LinkMaker } from '../../platform/links/signed-link.ts';

/** Ten minutes; docs/interface.md, "Notifications". */
const LINK_LIFETIME_MS = 600_000;

/** Makes the link to a notification's Bundle. The link is the permission, and is valid for ten minutes. */
export const notificationUrl = (
  links: LinkMaker,
  { accountId, notificationId }: { accountId: string; notificationId: string },
): string => links.url('encounter', { accountId, targetId: notificationId }, LINK_LIFETIME_MS);
