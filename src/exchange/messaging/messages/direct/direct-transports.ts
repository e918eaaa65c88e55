import type { KeyRing } from '../../../../lib/key-ring.ts';
import type { Store } from '../../../platform/database/database.ts';
import type { MessageTransport } from '../message-transport.ts';
import { createDirectTransport } from './direct-transport.ts';
import type { DirectTrust } from './direct-trust.ts';
import { openMailbox } from './mailbox-settings.ts';
import { findMailbox } from './mailbox-store.ts';

export interface DirectTransports {
  /** By the account's mailbox; undefined when it has none. */
  of(accountId: string): Promise<MessageTransport | undefined>;
}

export const createDirectTransports = (
  store: Pick<Store, 'asAccount'>,
  keyRing: KeyRing,
  trust: DirectTrust,
): DirectTransports => ({
  async of(accountId) {
    const mailbox = await store.asAccount(accountId, (tx) =>
      findMailbox(tx, accountId),
    );
    return (
      mailbox &&
      createDirectTransport(
        store,
        accountId,
        openMailbox(keyRing, mailbox),
        trust,
      )
    );
  },
});
