import {
  compareEvents,
  type EncounterEvent,
  type Transfer,
} from './encounter-event.ts';

/** A fact about an encounter, announced once for each key. */
export interface EncounterFact {
  type: 'admit' | 'transfer' | 'discharge';
  /**
   * Stays the same when the fact is late or corrected; changes only after it
   * was withdrawn and happened again.
   */
  key: string;
  /** When it happened; undefined when no message contains it. */
  at?: string;
  sentAt?: string;
}

/** What is known of an encounter, each from the newest event that says it. */
type Known = Pick<
  EncounterEvent,
  'admittedAt' | 'dischargedAt' | 'location' | 'encounterClass' | 'disposition'
>;

export interface EncounterState extends Known {
  /** Where the stay was before its first transfer. */
  firstLocation?: string;
  status: 'unknown' | 'in-progress' | 'finished' | 'cancelled';
  transfers: Transfer[];
  facts: EncounterFact[];
}

/**
 * Computes an encounter from its events. Events are sorted by recording time,
 * and a repeated message counts once, so the result does not depend on the
 * order or number of deliveries.
 */
export function encounterState(
  events: readonly EncounterEvent[],
): EncounterState {
  const once = new Map(events.map((event) => [identityOf(event), event]));
  const fold = new Fold();
  for (const event of [...once.values()].sort(compareEvents)) fold.apply(event);
  return fold.result();
}

/**
 * A cancelled transfer sent twice under two message ids must cancel only one
 * transfer, so its recording time identifies it.
 */
const identityOf = (event: EncounterEvent): string =>
  event.trigger === 'cancel-transfer'
    ? `cancel-transfer/${event.recordedAt}`
    : event.messageKey;

/**
 * A fact that can be withdrawn and happen again; its key counts the withdrawals
 * before it.
 */
class Reversible {
  #withdrawals = 0;
  #lastWasWithdrawal = false;
  #sentAt: string | undefined;
  #holds = false;
  private readonly type: 'admit' | 'discharge';

  constructor(type: 'admit' | 'discharge') {
    this.type = type;
  }

  get holds(): boolean {
    return this.#holds;
  }

  happen(sentAt: string | undefined): void {
    if (!this.#holds) this.#sentAt = sentAt;
    this.#holds = true;
    this.#lastWasWithdrawal = false;
  }

  /**
   * Withdraws the fact, also before it was reported. Consecutive withdrawals
   * count once.
   */
  withdraw(): void {
    if (!this.#lastWasWithdrawal) this.#withdrawals += 1;
    this.#lastWasWithdrawal = true;
    this.#holds = false;
  }

  facts(at: string | undefined): EncounterFact[] {
    if (!this.#holds) return [];
    return [
      {
        type: this.type,
        key: `${this.type}/${this.#withdrawals}`,
        at,
        sentAt: this.#sentAt,
      },
    ];
  }
}

/** Codes of ActEncounterCode. */
const OUTPATIENT: ReadonlySet<string> = new Set(['AMB', 'PRENC']);

/** Where from is only known by what was before, until all are in order. */
interface Moved extends Transfer {
  sentAt?: string;
  isImplied?: boolean;
}

class Fold {
  readonly #admit = new Reversible('admit');
  readonly #discharge = new Reversible('discharge');
  #transfers: Moved[] = [];
  #firstLocation: string | undefined;
  #isKnown = false;
  #isCancelled = false;
  #data: Known = {};

  /** What an event does, after its data was taken. */
  readonly #effects: Record<
    EncounterEvent['trigger'],
    (event: EncounterEvent, before?: string) => void
  > = {
    admit: (event) => this.#admitted(event),
    register: (event) => this.#registered(event),
    transfer: (event, before) =>
      this.#moved(
        {
          at: timeOf(event),
          from: event.priorLocation ?? before,
          to: event.location,
          isImplied: event.priorLocation === undefined,
        },
        event,
      ),
    discharge: (event) => this.#discharged(event),
    'cancel-admit': () => this.#cancelled(),
    'cancel-transfer': () => void this.#transfers.pop(),
    'cancel-discharge': () => {
      this.#exists();
      this.#notDischarged();
    },
    snapshot: (event) => this.#snapshot(event),
    describe: (event) => this.#described(event),
    update: (event) => this.#undischarged(event),
  };

  apply(event: EncounterEvent): void {
    const locationBefore = this.#data.location;
    this.#takeData(event);
    this.#effects[event.trigger](event, locationBefore);
  }

  result(): EncounterState {
    const { admittedAt, dischargedAt } = this.#data;
    return {
      status: this.#status(),
      ...this.#data,
      firstLocation: this.#firstLocation,
      transfers: this.#transfers.map(
        ({ sentAt: _, isImplied, ...transfer }, index) => {
          const before =
            index === 0 ? this.#firstLocation : this.#transfers[index - 1]?.to;
          return isImplied === true && before !== undefined
            ? { ...transfer, from: before }
            : transfer;
        },
      ),
      facts: [
        ...this.#admit.facts(admittedAt),
        ...this.#transfers.map(({ at, sentAt }, index) => ({
          type: 'transfer' as const,
          key: `transfer/${at}${'+'.repeat(this.#transfers.slice(0, index).filter((each) => each.at === at).length)}`,
          at,
          sentAt,
        })),
        ...this.#discharge.facts(dischargedAt),
      ],
    };
  }

  #status(): EncounterState['status'] {
    if (this.#isCancelled) return 'cancelled';
    if (this.#discharge.holds) return 'finished';
    return this.#isKnown ? 'in-progress' : 'unknown';
  }

  #takeData(event: EncounterEvent): void {
    const { admittedAt, location, encounterClass, disposition, dischargedAt } =
      event;
    if (admittedAt !== undefined) this.#data.admittedAt = admittedAt;
    if (location !== undefined) this.#data.location = location;
    const isBeforeTransfers =
      this.#transfers.length === 0 &&
      event.trigger !== 'transfer' &&
      event.trigger !== 'snapshot';
    if (isBeforeTransfers) this.#firstLocation = this.#data.location;
    if (encounterClass !== undefined)
      this.#data.encounterClass = encounterClass;
    if (disposition !== undefined) this.#data.disposition = disposition;
    // After a discharge this is its correction; before, it is only the expected
    // end of the stay.
    if (dischargedAt !== undefined && this.#discharge.holds)
      this.#data.dischargedAt = dischargedAt;
  }

  #exists(): void {
    this.#isKnown = true;
    this.#isCancelled = false;
  }

  #admitted(event: EncounterEvent): void {
    this.#exists();
    this.#admit.happen(event.sentAt);
    this.#data.admittedAt ??= timeOf(event);
  }

  /**
   * Emergency departments register a patient who is never admitted. An
   * outpatient visit is no stay to be announced.
   */
  #registered(event: EncounterEvent): void {
    if (!OUTPATIENT.has(this.#data.encounterClass ?? '')) this.#admitted(event);
    else {
      this.#exists();
      this.#data.admittedAt ??= timeOf(event);
    }
  }

  /**
   * Feeds begin in the middle of stays: an update of a stay that is not known
   * yet reports it, if it says when it began.
   */
  #described(event: EncounterEvent): void {
    this.#undischarged(event);
    const { admittedAt, dischargedAt, recordedAt, encounterClass } = event;
    const isNew = !this.#isKnown && !this.#isCancelled;
    if (
      !isNew ||
      admittedAt === undefined ||
      admittedAt > recordedAt ||
      encounterClass === 'PRENC'
    )
      return;
    this.#registered(event);
    if (dischargedAt !== undefined && dischargedAt <= recordedAt)
      this.#discharged(event);
  }

  /**
   * A transfer of the same time is a correction of the one before, unless it
   * goes on from where that one led.
   */
  #moved(transfer: Moved, { sentAt }: { sentAt?: string }): void {
    this.#exists();
    const sameTime = this.#transfers.filter(({ at }) => at === transfer.at);
    const last = sameTime.at(-1);
    const isAgain = last !== undefined && last.to === transfer.to;
    const goesOn =
      !isAgain && last?.to !== undefined && last.to === transfer.from;
    const moved = {
      ...(isAgain ? { ...transfer, from: last.from } : transfer),
      sentAt,
    };
    this.#transfers = [
      ...this.#transfers.filter((each) => goesOn || each !== last),
      moved,
    ].sort((a, b) => (a.at === b.at ? 0 : a.at < b.at ? -1 : 1));
  }

  /** The sender deleted the time of the discharge. */
  #undischarged({ isDischargeDeleted }: EncounterEvent): void {
    if (isDischargeDeleted === true && this.#discharge.holds)
      this.#notDischarged();
  }

  #notDischarged(): void {
    this.#discharge.withdraw();
    this.#data.dischargedAt = undefined;
  }

  #discharged(event: EncounterEvent): void {
    this.#exists();
    this.#discharge.happen(event.sentAt);
    this.#data.dischargedAt = event.dischargedAt ?? timeOf(event);
  }

  #cancelled(): void {
    this.#isCancelled = true;
    this.#admit.withdraw();
    if (this.#discharge.holds) this.#discharge.withdraw();
    this.#data.dischargedAt = undefined;
    this.#transfers = [];
  }

  #snapshot(event: EncounterEvent): void {
    if (event.phase === 'cancelled') {
      this.#cancelled();
      return;
    }
    this.#admitted(event);
    if (event.transfers !== undefined) {
      // A transfer missing from the snapshot was withdrawn. One that remains
      // keeps the time of the message that first reported it.
      const { transfers } = event;
      const reported = this.#transfers.filter(({ at }) =>
        transfers.some((transfer) => transfer.at === at),
      );
      this.#transfers = [];
      for (const transfer of transfers) {
        const first = reported.find(({ at }) => at === transfer.at);
        this.#moved(transfer, { sentAt: first?.sentAt ?? event.sentAt });
      }
    }
    if (event.phase === 'ended') {
      this.#discharged(event);
    } else if (this.#discharge.holds) this.#notDischarged();
  }
}

const timeOf = (event: EncounterEvent): string =>
  event.occurredAt ?? event.recordedAt;
