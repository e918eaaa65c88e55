import type { TimelineEntry } from '../../contract/network-query.ts';
import type { ExchangeClient } from '../../orchestrator/client/exchange-client.ts';
import { ExchangeCallError } from '../../orchestrator/client/failures.ts';
import { type QueryView, queryView } from './query-view.ts';

/** Reads queries (E3) with their timeline, if the exchange has one: the timeline is not part of the interface. */
export class QueryReader {
  readonly #client: ExchangeClient;
  #hasTimeline = true;

  constructor(client: ExchangeClient) {
    this.#client = client;
  }

  /** Throws ExchangeCallError when E3 fails. */
  async look(requestId: string, signal?: AbortSignal): Promise<QueryView> {
    const { answer } = await this.#client.call('getNetworkQuery', { params: { requestId } }, { signal });
    // Read second: it may be newer than the status, so an ended query always comes with its full timeline.
    return queryView(answer, await this.#timeline(requestId, signal));
  }

  async #timeline(requestId: string, signal: AbortSignal | undefined): Promise<TimelineEntry[]> {
    if (!this.#hasTimeline) return [];
    try {
      const { answer } = await this.#client.call(
        'getNetworkQueryTimeline',
        { params: { requestId } },
        { signal },
      );
      return answer.timeline;
    } catch (error) {
      if (!(error instanceof ExchangeCallError)) throw error;
      if (error.kind === 'not-found' || error.kind === 'rejected' || error.kind === 'bad-answer')
        this.#hasTimeline = false;
      return [];
    }
  }
}
