import type { LinkMaker } from '../../platform/links/signed-link.ts';

/** Long enough for the receiver of a webhook. Reading the status of the bulk create returns a new link at any time. */
const RESULT_LINK_MS = 60 * 60_000;

/** A link to the result CSV of a completed bulk create. */
export const bulkResultUrl = (
  links: LinkMaker,
  { accountId, requestId }: { accountId: string; requestId: string },
): string => links.url('bulk-result', { accountId, targetId: requestId }, RESULT_LINK_MS);
