import type { Applied } from '../apply.ts';
import type { FollowUps } from './follow-ups.ts';

/** After the commit: starts the workflows of follow-ups that a subject opened, and wakes those of the ones it ended. */
export function continueFollowUps(
  followUps: Pick<FollowUps, 'launch' | 'wake'>,
  applied: readonly Applied[],
): void {
  for (const { accountId, opened, ended } of applied.flatMap(({ updates }) => updates)) {
    for (const notificationId of opened) followUps.launch(accountId, notificationId);
    for (const notificationId of ended) followUps.wake(accountId, notificationId);
  }
}
