import type { SourceConnector, SourcePage } from '../connectors/connector.ts';

/** The same connector, with `onAnswer` called as soon as the source has answered a call. */
export function watchConnector(connector: SourceConnector, onAnswer: () => Promise<void>): SourceConnector {
  async function watched<T>(call: Promise<T>): Promise<T> {
    const result = await call;
    await onAnswer();
    return result;
  }
  async function* watchedPages(pages: AsyncIterable<SourcePage>): AsyncGenerator<SourcePage> {
    for await (const page of pages) {
      await onAnswer();
      yield page;
    }
  }
  return {
    ...connector,
    begin: (...args) => watched(connector.begin(...args)),
    poll: (...args) => watched(connector.poll(...args)),
    resume: (...args) => watchedPages(connector.resume(...args)),
  };
}
