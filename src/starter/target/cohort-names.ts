import type { ExchangeClient } from '../../orchestrator/client/exchange-client.ts';
import { ExchangeCallError } from '../../orchestrator/client/failures.ts';
import { plainText } from '../progress/plain-text.ts';

/** The names of all cohorts, by id; none while the exchange does not answer, because a list of schedules does not need it. */
export async function cohortNames(exchange: ExchangeClient): Promise<ReadonlyMap<string, string>> {
  try {
    const { answer } = await exchange.call('listCohorts', {});
    return new Map(answer.cohorts.map(({ id, name }) => [id, plainText(name)]));
  } catch (error) {
    if (error instanceof ExchangeCallError) return new Map();
    throw error;
  }
}
