import { CallError } from './api.js';
import { announce, byId, contentOf, el, setText, show } from './dom.js';
import { eventsOf } from './lines.js';
import { clockText } from './words.js';

/** Between attempts to come back to the events, in milliseconds; the last one for good. */
const COME_BACK_MS = [1_000, 2_000, 5_000, 15_000, 30_000];

/**
 * Stays with the events until the session is over or has another token. While they cannot be had the page says since when.
 * @param {import('./session.js').Session} session @param {import('./api.js').Api} api
 * @param {{onQueries: (data: any) => void, onBack: () => void}} options
 */
export async function follow(session, api, { onQueries, onBack }) {
  const signal = session.tokenSignal;
  for (let failures = 0; !signal.aborted; failures += 1) {
    try {
      for await (const { event, data } of eventsOf(await api.open('events', signal))) {
        if (event === 'session' && data.expiresInSeconds !== undefined) session.lasts(data.expiresInSeconds);
        if (event === 'queries') {
          onQueries(data);
          failures = 0;
          // Also what was lost before this token followed another.
          if (!byId('connection').hidden) {
            setText(byId('connection'), '');
            announce('Live updates are back.');
            onBack();
          }
        }
        if (event === 'end' && data.reason !== 'renew') return session.end(data.reason);
      }
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof CallError && error.status === 404) return session.end('gone');
    }
    // A stream that ended is no trouble yet; one that does not come again at once is.
    if (failures > 0) tellLoss();
    await backSoon(COME_BACK_MS[Math.min(failures, COME_BACK_MS.length - 1)] ?? 0, signal);
  }
}

/** Once for each loss, with its time. */
function tellLoss() {
  if (!byId('connection').hidden) return;
  const isEmpty = contentOf('queries').hasAttribute('aria-busy');
  if (isEmpty) show(contentOf('queries'), el('p.quiet', {}, 'Not known at the moment.'));
  setText(
    byId('connection'),
    isEmpty
      ? 'The service cannot be reached. Trying again…'
      : `Live updates stopped at ${clockText(new Date())}; what is shown here may be older than what is known. Trying to come back…`,
  );
  announce('Live updates have stopped; trying to come back.');
}

/** After that time, or as soon as the machine says that it is connected again. @param {number} delayMs @param {AbortSignal} signal */
const backSoon = (delayMs, signal) =>
  new Promise((wake) => {
    setTimeout(wake, delayMs);
    addEventListener('online', wake, { once: true, signal });
    signal.addEventListener('abort', wake, { once: true });
  });
