import type { QueryGateway } from '../../contract/network-query.ts';
import { renderTable } from '../../lib/table.ts';
import { terminalText } from '../progress/plain-text.ts';
import type { QuerySourceView } from '../progress/query-view.ts';
import type { Target } from '../target/target.ts';

/** As many as a page has at most. */
const COUNT = 500;

/** All gateways of a query, in the order in which they are asked. */
export async function readQueryGateways(
  requestId: string,
  { exchange }: Target,
): Promise<QueryGateway[]> {
  const gateways: QueryGateway[] = [];
  let fromItem: string | undefined;
  do {
    const { answer } = await exchange.call('listNetworkQueryGateways', {
      params: { requestId },
      query: { count: COUNT, fromItem },
    });
    gateways.push(...answer.gateways);
    const { nextPage } = answer.meta;
    fromItem =
      nextPage === undefined
        ? undefined
        : (new URL(nextPage).searchParams.get('fromItem') ?? undefined);
  } while (fromItem !== undefined);
  return gateways;
}

export const gatewaysTable = (gateways: readonly QueryGateway[]): string[] =>
  renderTable(
    ['Gateway', 'Home community', 'Because', 'State', 'Detail'],
    gateways.map(({ name, homeCommunity, because, state, reason }) => [
      terminalText(name ?? ''),
      homeCommunity,
      because,
      state,
      terminalText(reason ?? ''),
    ]),
  );

/** How many gateways there are, and how they stand; empty without any. */
export const gatewayWords = (counts: QuerySourceView['gateways']): string =>
  counts === undefined
    ? ''
    : `${counts.asked} gateways: ${counts.found} found, ${counts.nobody} nobody, ${counts.failed} failed, ${counts.waiting} waiting`;
