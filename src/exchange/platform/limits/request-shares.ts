import { OverloadError } from '../errors.ts';

export const ACCOUNT_REQUESTS_MAX = 200;

/** One request of an account that is under way. */
export interface RequestPlace {
  leave(): void;
}

/** How many requests each account may have under way in this gateway: what waits for its turn takes memory, too. */
export class RequestShares {
  readonly #underWay = new Map<string, number>();

  constructor(private readonly max = ACCOUNT_REQUESTS_MAX) {}

  /** Throws OverloadError when the account has as many under way as it may. `leave` may be called twice. */
  take(accountId: string): RequestPlace {
    const underWay = this.underWay(accountId);
    if (underWay >= this.max)
      throw new OverloadError(
        `More than ${this.max} requests of this account are under way; wait for answers before you send more`,
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
