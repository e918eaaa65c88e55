import { mapAtMost } from '../../lib/at-most.ts';
import type { ExchangeClient } from '../../orchestrator/client/exchange-client.ts';
import { ExchangeCallError } from '../../orchestrator/client/failures.ts';
import { plainText } from '../progress/plain-text.ts';

const AT_ONCE = 4;

/** The names of patients, by id. Those that cannot be read (deleted, for example) have none. */
export async function patientNames(
  exchange: ExchangeClient,
  ids: readonly (string | null | undefined)[],
): Promise<ReadonlyMap<string, string>> {
  const known = [...new Set(ids)].filter((id) => id != null);
  const named = await mapAtMost(known, AT_ONCE, async (id): Promise<[string, string]> => {
    try {
      const { answer } = await exchange.call('getPatient', { params: { id } });
      return [id, plainText([answer.firstName, answer.lastName].flat().join(' '))];
    } catch (error) {
      if (error instanceof ExchangeCallError) return [id, ''];
      throw error;
    }
  });
  return new Map(named);
}
