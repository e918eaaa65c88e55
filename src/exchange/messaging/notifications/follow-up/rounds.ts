import type { FollowUpStep } from '../../../../contract/discharge-follow-up-workflow.ts';
import { counted } from '../../../../lib/counted.ts';
import { deniedSources } from '../../../people/consents/consent-store.ts';
import type { AccountTx, Store } from '../../../platform/database/database.ts';
import {
  type PreparedQuery,
  whyNotAsked,
} from '../../../queries/network-query/prepare.ts';
import type { NetworkQueryService } from '../../../queries/network-query/service.ts';
import {
  endFollowUps,
  lockFollowUp,
  outcomeOfQueries,
  readQueryPermission,
  recordRound,
  type StoredFollowUp,
} from './follow-up-store.ts';

/**
 * The account's rate limit has no room for another background query now.
 * Nothing was written; try again later.
 */
export class NoRoomError extends Error {
  override readonly name = 'NoRoomError';
  readonly retryAfterMs: number;

  /**
   * @param retryAfterMs until the limit's next minute, or until the source is
   *   tried again
   */
  constructor(retryAfterMs: number) {
    super(
      'The share of the hie rate limit for background queries is used up; try again later',
    );
    this.retryAfterMs = retryAfterMs;
  }
}

const NEXT_MINUTE_MS = 60_000;
const PURPOSE = 'treatment';

/** Names a follow-up: the notification that it belongs to. */
interface OfFollowUp {
  accountId: string;
  notificationId: string;
}

export type FollowUpRounds = ReturnType<typeof createFollowUpRounds>;

const GONE: FollowUpStep = {
  state: 'cancelled',
  reason: 'The patient was deleted',
  isQueryRunning: false,
};

export function createFollowUpRounds(deps: {
  store: Store;
  networkQueries: Pick<NetworkQueryService, 'prepareQuery' | 'launchQuery'>;
}) {
  const { store, networkQueries } = deps;

  /**
   * The end of a follow-up that has ended or must end now; undefined while it
   * stays open.
   */
  async function endIfDue(
    tx: AccountTx,
    followUp: StoredFollowUp,
  ): Promise<FollowUpStep | undefined> {
    const { notificationId, state, queryIds, patientId } = followUp;
    if (state !== 'open')
      return {
        state,
        reason: followUp.reason ?? undefined,
        isQueryRunning: false,
      };
    const end = async (
      ended: 'new-data' | 'cancelled',
      reason: string,
    ): Promise<FollowUpStep> => {
      await endFollowUps(tx, [notificationId], ended, reason);
      return { state: ended, reason, isQueryRunning: false };
    };
    const { newResources } = await outcomeOfQueries(tx, queryIds);
    if (newResources > 0)
      return end(
        'new-data',
        `The queries of the hie source brought ${counted(newResources, 'new resource')}`,
      );
    const permission = await readQueryPermission(tx, patientId);
    if (permission === undefined) return undefined;
    const denied = await deniedSources(tx, patientId, PURPOSE, ['hie']);
    const refused = whyNotAsked('hie', permission, denied);
    return refused && end('cancelled', refused.message);
  }

  async function startQuery(
    tx: AccountTx,
    { patientId, notificationId }: StoredFollowUp,
  ): Promise<PreparedQuery> {
    const permission = await readQueryPermission(tx, patientId);
    if (permission === undefined)
      throw new Error('The patient of a locked follow-up does not exist');
    const prepared = await networkQueries.prepareQuery(tx, {
      ...permission,
      request: {
        sources: [{ source: 'hie', realtime: false }],
        metadata: { notificationId },
      },
      purposeOfUse: PURPOSE,
      origin: 'monitoring',
    });
    // A permanent refusal was ruled out before, so only the rate limit can be
    // the cause.
    if (prepared.run === undefined)
      throw new NoRoomError(prepared.retryAfterMs ?? NEXT_MINUTE_MS);
    return prepared;
  }

  /**
   * What `work` returns of a follow-up that is open and stays so, locked;
   * otherwise how it ended.
   */
  const inOpen = (
    { accountId, notificationId }: OfFollowUp,
    work: (tx: AccountTx, followUp: StoredFollowUp) => Promise<FollowUpStep>,
  ): Promise<FollowUpStep> =>
    store.asAccount(accountId, async (tx) => {
      const followUp = await lockFollowUp(tx, notificationId);
      if (followUp === undefined) return GONE;
      return (await endIfDue(tx, followUp)) ?? work(tx, followUp);
    });

  return {
    /**
     * Makes one round: starts a query, unless the follow-up has ended or its
     * last query still runs. A repeated call for the same round starts no
     * second query. Throws NoRoomError.
     */
    async ask({
      round,
      ...of
    }: OfFollowUp & { round: number }): Promise<FollowUpStep> {
      let query: PreparedQuery | undefined;
      const step = await inOpen(of, async (tx, followUp) => {
        const { running } = await outcomeOfQueries(tx, followUp.queryIds);
        const isNew = running === 0 && followUp.rounds < round;
        query = isNew ? await startQuery(tx, followUp) : undefined;
        const last = isNew ? round : Math.max(round, followUp.rounds);
        await recordRound(tx, of.notificationId, last, query?.requestId);
        return { state: 'open', isQueryRunning: isNew || running > 0 };
      });
      if (query !== undefined) networkQueries.launchQuery(of.accountId, query);
      return step;
    },

    /**
     * Returns the state of the follow-up; ends it first when a query has
     * brought new data.
     */
    look: (of: OfFollowUp) =>
      inOpen(of, async (tx, followUp) => {
        const { running } = await outcomeOfQueries(tx, followUp.queryIds);
        return { state: 'open', isQueryRunning: running > 0 };
      }),

    /**
     * Ends the follow-up, unless it has ended. @param reason shown to callers
     */
    end: (of: OfFollowUp, state: 'no-new-data' | 'cancelled', reason: string) =>
      inOpen(of, async (tx) => {
        await endFollowUps(tx, [of.notificationId], state, reason);
        return { state, reason, isQueryRunning: false };
      }),
  };
}
