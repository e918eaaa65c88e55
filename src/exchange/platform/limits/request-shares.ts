import { OverloadError } from '../errors.ts';

export const ACCOUNT_REQUESTS_MAX = 200;

/** A place that a request in progress occupies in its account's share. */
export interface RequestPlace {
  leave(): void;
}

/** Limits each account's concurrent requests in this gateway, including waiting ones, which also take memory. */
export class RequestShares {
  readonly #underWay = new Map<string, number>();

  constructor(private readonly max = ACCOUNT_REQUESTS_MAX) {}

  /** Occupies a place. Throws OverloadError if the account has no place left. `leave` may be called more than once. */
  take(accountId: string): RequestPlace {
    const underWay = this.underWay(accountId);
    if (underWay >= this.max)
      throw new OverloadError(
        `More than ${this.max} concurrent requests of this account; wait for responses before you send more`,
      );
    this.#underWay.set(accountId, underWay + 1);
    let isTaken = true;
    return {
      leave: () => {
        if (isTaken) this.#leave(accountId);
        isTaken = false;
      },
    };
  }

  underWay(accountId: string): number {
    return this.#underWay.get(accountId) ?? 0;
  }

  #leave(accountId: string): void {
    const left = this.underWay(accountId) - 1;
    if (left > 0) this.#underWay.set(accountId, left);
    else this.#underWay.delete(accountId);
  }
}
