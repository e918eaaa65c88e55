import type { FollowUpStep } from '../../../contract/discharge-follow-up-workflow.ts';
import { type PreparedQuery, refusal } from '../../network-query/prepare.ts';
import type { NetworkQueryService } from '../../network-query/service.ts';
import type { AccountTx, Store } from '../../platform/database/database.ts';
import {
  endFollowUps,
  lockFollowUp,
  noteRound,
  outcomeOfQueries,
  readAskable,
  type StoredFollowUp,
} from './follow-up-store.ts';

/** The account's limit of queries leaves no room just now; nothing was written. */
export class NoRoomError extends Error {
  override readonly name = 'NoRoomError';
}

export interface FollowUpRounds {
  /** Makes one round: starts a query unless the follow-up has ended. Twice for one round starts one. Throws NoRoomError. */
  ask(of: { accountId: string; notificationId: string; round: number }): Promise<FollowUpStep>;
  /** How it stands; ends it when a query has brought new data. */
  look(of: { accountId: string; notificationId: string }): Promise<FollowUpStep>;
  end(
    of: { accountId: string; notificationId: string },
    state: 'no-new-data' | 'cancelled',
    reason: string,
  ): Promise<FollowUpStep>;
}

const GONE: FollowUpStep = { state: 'cancelled', reason: 'The patient was deleted', isQueryRunning: false };

export function createFollowUpRounds(deps: {
  store: Store;
  networkQueries: Pick<NetworkQueryService, 'prepareQuery' | 'launchQuery'>;
}): FollowUpRounds {
  const { store, networkQueries } = deps;

  /** Undefined while the follow-up is open and nothing has come. */
  async function endedBy(tx: AccountTx, followUp: StoredFollowUp): Promise<FollowUpStep | undefined> {
    const { notificationId, state, queryIds, patientId } = followUp;
    if (state !== 'open') return { state, reason: followUp.reason ?? undefined, isQueryRunning: false };
    const end = async (ended: 'new-data' | 'cancelled', reason: string): Promise<FollowUpStep> => {
      await endFollowUps(tx, [notificationId], ended, reason);
      return { state: ended, reason, isQueryRunning: false };
    };
    const { newResources } = await outcomeOfQueries(tx, queryIds);
    if (newResources > 0) return end('new-data', `${newResources} resources were new`);
    const askable = await readAskable(tx, patientId);
    const refused = askable && refusal('hie', askable);
    return refused && end('cancelled', refused.message);
  }

  async function startQuery(
    tx: AccountTx,
    { patientId, notificationId }: StoredFollowUp,
  ): Promise<PreparedQuery> {
    const askable = await readAskable(tx, patientId);
    if (askable === undefined) throw new Error('the patient of a held follow-up is gone');
    const prepared = await networkQueries.prepareQuery(tx, {
      ...askable,
      request: { sources: [{ source: 'hie', realtime: false }], metadata: { notificationId } },
      purposeOfUse: 'treatment',
      origin: 'monitoring',
    });
    // What refuses the source for good was asked before.
    if (prepared.run === undefined) throw new NoRoomError('the limit of hie queries leaves no room now');
    return prepared;
  }

  return {
    async ask({ accountId, notificationId, round }) {
      const { step, query } = await store.asAccount(accountId, async (tx) => {
        const followUp = await lockFollowUp(tx, notificationId);
        if (followUp === undefined) return { step: GONE };
        const ended = await endedBy(tx, followUp);
        if (ended !== undefined) return { step: ended };
        const { running } = await outcomeOfQueries(tx, followUp.queryIds);
        if (running > 0 || followUp.rounds >= round) {
          await noteRound(tx, notificationId, Math.max(round, followUp.rounds), undefined);
          return { step: { state: 'open' as const, isQueryRunning: running > 0 } };
        }
        const prepared = await startQuery(tx, followUp);
        await noteRound(tx, notificationId, round, prepared.requestId);
        return { step: { state: 'open' as const, isQueryRunning: true }, query: prepared };
      });
      if (query !== undefined) networkQueries.launchQuery(accountId, query);
      return step;
    },

    look: ({ accountId, notificationId }) =>
      store.asAccount(accountId, async (tx) => {
        const followUp = await lockFollowUp(tx, notificationId);
        if (followUp === undefined) return GONE;
        const ended = await endedBy(tx, followUp);
        if (ended !== undefined) return ended;
        const { running } = await outcomeOfQueries(tx, followUp.queryIds);
        return { state: 'open', isQueryRunning: running > 0 };
      }),

    end: ({ accountId, notificationId }, state, reason) =>
      store.asAccount(accountId, async (tx) => {
        const followUp = await lockFollowUp(tx, notificationId);
        if (followUp === undefined) return GONE;
        const ended = await endedBy(tx, followUp);
        if (ended !== undefined) return ended;
        await endFollowUps(tx, [notificationId], state, reason);
        return { state, reason, isQueryRunning: false };
      }),
  };
}
