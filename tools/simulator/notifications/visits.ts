import type { NotifiedEvent } from '../../../src/local-stack/simulator/notifications.ts';

/** An encounter in the sender's system. */
export interface Visit {
  admittedAt?: string;
  dischargedAt?: string;
  isCancelled: boolean;
  /** Wards with the time of arrival. */
  stays: { location: string; from: string }[];
}

/** The encounters of the simulated hospital, kept in memory only. */
export class Visits {
  readonly #visits = new Map<string, Visit>();

  /** Applies an event to a visit and returns a copy of its new state. */
  after(key: string, { event, at, location }: NotifiedEvent): Visit {
    const visit: Visit = structuredClone(
      this.#visits.get(key) ?? { isCancelled: false, stays: [] },
    );
    const ward = location ?? `Ward ${visit.stays.length + 1}`;
    switch (event) {
      case 'admit':
        Object.assign(visit, {
          admittedAt: at,
          isCancelled: false,
          stays: [{ location: ward, from: at }],
        });
        break;
      case 'transfer':
        visit.stays.push({ location: ward, from: at });
        break;
      case 'discharge':
        visit.dischargedAt = at;
        break;
      case 'cancel-admit':
        visit.isCancelled = true;
        break;
      case 'cancel-transfer':
        visit.stays.pop();
        break;
      case 'cancel-discharge':
        delete visit.dischargedAt;
        break;
      case 'update':
      case 'merge':
      case 'fill':
      case 'result':
        break;
    }
    this.#visits.set(key, visit);
    return structuredClone(visit);
  }
}
