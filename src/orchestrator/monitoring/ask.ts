import { MONITORING_METADATA } from '../../contract/cohort-monitoring.ts';
import { opaqueId } from '../../temporal/opaque-id.ts';
import { ExchangeCallError } from '../client/failures.ts';
import { type Calls, NoRoom, waitOf } from './calls.ts';
import type { PageInput } from './monitored-page.ts';
import { Period } from './period.ts';

/** How a patient's turn ended. `refused`: the source will not be asked, and not for want of room. */
export type Turn = 'started' | 'alreadyAsked' | 'gone' | 'refused' | 'failed';

/** Newest queries of a patient that are looked at. */
const LOOK_AT = 20;
/** Keys that are tried in one turn: an exchange tells a refusal again under its key, and some are another cohort's. */
const KEYS_MAX = 20;
/** The wait for what another run is about, or has left behind. */
const SOON_MS = 1_000;
/** A service that has no list of queries, or not with these filters. */
const CANNOT_LIST: ReadonlySet<number> = new Set([400, 404, 405, 501]);

/** What the list of queries says about a patient. */
type Seen = { turn: 'started' | 'alreadyAsked' } | { turn?: undefined; newest: string };

const NONE: Seen = { newest: '' };

/** Starts the query of one patient unless the source was asked in this period. */
export class Asker {
  readonly #period: Period;

  constructor(
    readonly input: PageInput,
    readonly calls: Calls,
    /** ID_HMAC_KEY */
    readonly hmacKey: string,
  ) {
    this.#period = new Period(input);
  }

  /**
   * Throws NoRoom, and ExchangeCallError for what had better be tried again as a whole. @param refusalsBefore of this
   * patient for want of room: as many keys are used up
   */
  async ask(patientId: string, refusalsBefore: number): Promise<Turn> {
    const seen = await this.#look(patientId);
    if (seen.turn !== undefined) return seen.turn;
    let { newest } = seen;
    for (let key = refusalsBefore; key < refusalsBefore + KEYS_MAX; key += 1) {
      const turn = await this.#start(patientId, newest, key);
      if (turn === 'key-taken') {
        // Another cohort's run got there first with this key: with a start, or with a refusal.
        const now = await this.#look(patientId);
        if (now.turn !== undefined) return now.turn;
        newest = now.newest;
      } else if (typeof turn !== 'object') return turn;
      else if (!turn.isOld) throw this.#noRoom(turn.waitMs, key + 1);
    }
    throw this.#noRoom(SOON_MS, refusalsBefore + KEYS_MAX);
  }

  #noRoom(waitMs: number, refusals: number): NoRoom {
    this.calls.page.next = { ...(this.calls.page.next ?? this.input.place), refusals };
    return new NoRoom(waitMs);
  }

  async #look(patientId: string): Promise<Seen> {
    if (!this.calls.page.canList) return NONE;
    const { kind } = this.input;
    try {
      const { answer } = await this.calls.call('listNetworkQueries', {
        query: { patientId, source: kind, count: LOOK_AT },
      });
      // A service that ignores the filter would tell of others.
      const own = answer.queries.filter((query) => (query.patientId ?? patientId) === patientId);
      const asked = this.#period.askedBy(own);
      if (asked === 'nobody') return { newest: own[0]?.requestId ?? '' };
      return { turn: asked === 'own' ? 'started' : 'alreadyAsked' };
    } catch (error) {
      if (!(error instanceof ExchangeCallError) || !CANNOT_LIST.has(error.httpStatus ?? 0)) throw error;
      this.calls.page.canList = false;
      return NONE;
    }
  }

  async #start(
    patientId: string,
    newest: string,
    key: number,
  ): Promise<Turn | 'key-taken' | { waitMs: number; isOld: boolean }> {
    const { kind, cohortId, dueAt } = this.input;
    try {
      const { answer, pace } = await this.calls.call(
        'startNetworkQuery',
        {
          query: { patientId },
          body: {
            sources: { [kind]: { enabled: true } },
            metadata: {
              [MONITORING_METADATA.cohortId]: cohortId,
              [MONITORING_METADATA.kind]: kind,
              [MONITORING_METADATA.due]: dueAt,
            },
          },
        },
        { background: true, idempotencyKey: this.#idempotencyKey(patientId, newest, key) },
      );
      if (answer.sources.some(({ type }) => type === kind)) return 'started';
      const error = answer.errors.find(({ source }) => source === kind);
      if (error?.httpStatus === 429) return { waitMs: waitOf(pace), isOld: pace.isReplay === true };
      return error?.httpStatus === 400 ? 'refused' : 'failed';
    } catch (error) {
      return this.#turnOf(error, patientId, key);
    }
  }

  async #turnOf(error: unknown, patientId: string, key: number): Promise<Turn | 'key-taken'> {
    if (!(error instanceof ExchangeCallError)) throw error;
    // Another run is at this patient right now; what comes of it is known in a moment.
    if (error.kind === 'conflict' && error.retryable) throw this.#noRoom(SOON_MS, key);
    if (error.httpStatus === 422) return 'key-taken';
    if (error.retryable || error.kind === 'unauthorized') throw error;
    switch (error.kind) {
      case 'not-found':
        return 'gone';
      case 'ambiguous':
        // No answer, and an exchange without idempotency keys: only the list can tell; it is not sent again.
        return (await this.#look(patientId)).turn ?? 'failed';
      default:
        return error.kind === 'rejected' ? 'refused' : 'failed';
    }
  }

  /**
   * Names the newest query that was seen, so that of two runs that both found nothing at the same moment one is told that
   * the key is taken, whatever their cohorts and times. Where nothing can be seen, each cohort has keys of its own.
   */
  #idempotencyKey(patientId: string, newest: string, key: number): string {
    const { kind, cohortId, dueAt } = this.input;
    const scope = this.calls.page.canList ? newest : `${cohortId} ${dueAt}`;
    return opaqueId(this.hmacKey, 'monitoring-query', [kind, scope, patientId, key].join(' '));
  }
}
