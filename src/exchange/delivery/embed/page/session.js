import { tokenInUrl } from './begin.js';
import { announce, byId, el } from './dom.js';
import { clockText } from './words.js';

/** The end of the session is announced this many seconds before. */
const WARNINGS = [300, 60];

/** @typedef {import('./ending.js').Ending} Ending */

/**
 * The page's token and its lifetime. The token comes in the URL's fragment, is removed from the URL at once, and is kept only
 * in memory.
 */
export class Session {
  #token = '';
  #endsAt = Infinity;
  #announced = Infinity;
  #timer = 0;
  /** Aborted when the session ends, together with all its requests. */
  #over = new AbortController();
  /** Aborted when the session ends or another token replaces this one. */
  #replaced = new AbortController();

  /** @param {(reason: Ending) => void} onEnd */
  constructor(onEnd) {
    this.onEnd = onEnd;
  }

  /**
   * Takes a token from the URL. `renewed`: it replaces a token of a running session, so the page keeps its content.
   * @returns {'none' | 'new' | 'renewed'}
   */
  takeToken() {
    const token = tokenInUrl();
    if (token === '') return 'none';
    history.replaceState(null, '', location.pathname + location.search);
    const goesOn = this.#token !== '' && !this.#over.signal.aborted;
    clearInterval(this.#timer);
    this.#replaced.abort();
    this.#replaced = new AbortController();
    if (!goesOn) this.#over = new AbortController();
    this.#token = token;
    this.#endsAt = Infinity;
    this.#announced = Infinity;
    return goesOn ? 'renewed' : 'new';
  }

  get signal() {
    return this.#over.signal;
  }

  /** Signal for requests that must be repeated with each new token. */
  get tokenSignal() {
    return this.#replaced.signal;
  }

  get authorization() {
    return `Bearer ${this.#token}`;
  }

  /** Sets the remaining lifetime, measured by the gateway's clock; it can only get shorter for one token. @param {number} seconds */
  lasts(seconds) {
    this.#endsAt = Math.min(this.#endsAt, Date.now() + seconds * 1000);
    clearInterval(this.#timer);
    this.#timer = setInterval(() => this.#tick(), 1000);
    this.#tick();
  }

  /** @param {Ending} reason */
  end(reason) {
    clearInterval(this.#timer);
    if (this.#over.signal.aborted) return;
    this.#token = '';
    this.#over.abort();
    this.#replaced.abort();
    this.onEnd(reason);
  }

  #tick() {
    const leftSeconds = Math.ceil((this.#endsAt - Date.now()) / 1000);
    if (leftSeconds <= 0) return this.end('expired');
    const warning = WARNINGS.findLast((at) => leftSeconds <= at);
    const shown = byId('session');
    shown.hidden = false;
    shown.classList.toggle('soon', warning !== undefined);
    const text =
      warning === undefined
        ? `Open until ${clockText(new Date(this.#endsAt))}`
        : leftSeconds > 60
          ? `Closes in ${Math.ceil(leftSeconds / 60)} minutes`
          : `Closes in ${leftSeconds} ${leftSeconds === 1 ? 'second' : 'seconds'}`;
    if (shown.textContent !== text) shown.replaceChildren(el('span', {}, text));
    if (warning === undefined || this.#announced <= warning) return;
    this.#announced = warning;
    announce(`${text}. Open it again from your application to continue.`);
  }
}
