import { announce, byId, el } from './dom.js';
import { clockText } from './words.js';

/** Told of beforehand, in seconds before the end. */
const WARNINGS = [300, 60];

/** @typedef {import('./ending.js').Ending} Ending */

/**
 * What the page may do, and for how long. The token comes in the fragment of the address, leaves the address at once, and is
 * kept in memory only.
 */
export class Session {
  #token = '';
  #endsAt = Infinity;
  #told = Infinity;
  #timer = 0;
  /** Aborted when the session is over: every call with it. */
  #over = new AbortController();
  /** Aborted then, and when another token takes the place of this one. */
  #replaced = new AbortController();

  /** @param {(reason: Ending) => void} onEnd */
  constructor(onEnd) {
    this.onEnd = onEnd;
  }

  /**
   * Takes a token from the address. `renewed`: it follows one that was still good, and what is on the page can stay.
   * @returns {'none' | 'new' | 'renewed'}
   */
  takeToken() {
    const token = new URLSearchParams(location.hash.slice(1)).get('access_token');
    if (token === null || token === '') return 'none';
    history.replaceState(null, '', location.pathname + location.search);
    const goesOn = this.#token !== '' && !this.#over.signal.aborted;
    clearInterval(this.#timer);
    this.#replaced.abort();
    this.#replaced = new AbortController();
    if (!goesOn) this.#over = new AbortController();
    this.#token = token;
    this.#endsAt = Infinity;
    this.#told = Infinity;
    return goesOn ? 'renewed' : 'new';
  }

  get signal() {
    return this.#over.signal;
  }

  /** For what should go on with the newest token. */
  get tokenSignal() {
    return this.#replaced.signal;
  }

  get authorization() {
    return `Bearer ${this.#token}`;
  }

  /** By the gateway's clock, for this machine's may be wrong. The end of a token never moves on. @param {number} seconds */
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
    if (warning === undefined || this.#told <= warning) return;
    this.#told = warning;
    announce(`${text}. Open it again from your application to go on.`);
  }
}
