import { membersOf } from '../../platform/database/columns.ts';
import type { AccountTx } from '../../platform/database/database.ts';
import { rowsOf, sqlFile } from '../../platform/database/pg-arrays.ts';
import type { GatewayCandidate } from './rules/choose-gateways.ts';
import { positionOfZip } from './zip-centroids.ts';

const GATEWAY_CANDIDATES = sqlFile('gateway-candidates.sql', import.meta.url);

interface CandidateRow {
  id: string;
  name: string | null;
  home_community: string | null;
  active: boolean;
  discovery_url: string | null;
  query_url: string | null;
  retrieve_url: string | null;
  miles: number | null;
  is_unplaced_in_state: boolean;
  is_below_locator: boolean;
}

/**
 * The gateways of a directory that speak one protocol, as seen from a patient's
 * addresses. All addresses of a FHIR server are its base address.
 */
export async function readGatewayCandidates(
  tx: AccountTx,
  {
    directory,
    speaks = 'ihe',
    recordLocators,
  }: {
    directory: string;
    speaks?: 'ihe' | 'fhir' | undefined;
    /** Home communities. */
    recordLocators: readonly string[];
  },
  addresses: readonly { state: string; zip: string }[],
): Promise<GatewayCandidate[]> {
  const places = addresses.flatMap(
    ({ zip }) => positionOfZip(zip.slice(0, 5)) ?? [],
  );
  const rows = await rowsOf(
    tx,
    GATEWAY_CANDIDATES<CandidateRow>({
      directory,
      isFhir: speaks === 'fhir',
      latitudes: places.map(({ latitude }) => latitude),
      longitudes: places.map(({ longitude }) => longitude),
      states: [...new Set(addresses.map(({ state }) => state))],
      locators: [...recordLocators],
    }),
  );
  return rows.map(membersOf);
}
