import { CallError } from './api.js';
import { announce, byId, contentOf, el, setText, show } from './dom.js';
import { eventsOf } from './lines.js';
import { clockText } from './words.js';

/** Delays before reconnecting to the event stream, in milliseconds; the last one repeats. */
const RECONNECT_MS = [1_000, 2_000, 5_000, 15_000, 30_000];

/**
 * Follows the event stream until the session ends or gets another token. While the stream is down, the page shows since when.
 * @param {import('./session.js').Session} session @param {import('./api.js').Api} api
 * @param {{onQueries: (data: any) => void, onBack: () => void}} options
 */
export async function follow(session, api, { onQueries, onBack }) {
  const signal = session.tokenSignal;
  for (let failures = 0; !signal.aborted; failures += 1) {
    try {
      for await (const { event, data } of eventsOf(
        await api.open('events', signal),
      )) {
        if (event === 'session' && data.expiresInSeconds !== undefined)
          session.lasts(data.expiresInSeconds);
        if (event === 'queries') {
          onQueries(data);
          failures = 0;
          // The connection may also have been lost with the previous token.
          if (!byId('connection').hidden) {
            setText(byId('connection'), '');
            announce('Live updates are back.');
            onBack();
          }
        }
        if (event === 'end' && data.reason !== 'renew')
          return session.end(data.reason);
      }
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof CallError && error.status === 404)
        return session.end('gone');
    }
    // The end of a stream is normal; only if reconnecting fails at once is the loss shown.
    if (failures > 0) showConnectionLoss();
    await reconnectDelay(
      RECONNECT_MS[Math.min(failures, RECONNECT_MS.length - 1)] ?? 0,
      signal,
    );
  }
}

/** Shows the loss of the connection with its time, once per loss. */
function showConnectionLoss() {
  if (!byId('connection').hidden) return;
  const isEmpty = contentOf('queries').hasAttribute('aria-busy');
  if (isEmpty)
    show(contentOf('queries'), el('p.quiet', {}, 'Currently unknown.'));
  setText(
    byId('connection'),
    isEmpty
      ? 'The service cannot be reached. Trying again…'
      : `Live updates stopped at ${clockText(new Date())}; this page may be out of date. Reconnecting…`,
  );
  announce('Live updates have stopped. Reconnecting.');
}

/** Resolves after the delay, or as soon as the browser is online again. @param {number} delayMs @param {AbortSignal} signal */
const reconnectDelay = (delayMs, signal) =>
  new Promise((wake) => {
    setTimeout(wake, delayMs);
    addEventListener('online', wake, { once: true, signal });
    signal.addEventListener('abort', wake, { once: true });
  });
