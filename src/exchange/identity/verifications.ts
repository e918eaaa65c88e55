import { v7 as uuidv7 } from 'uuid';
import type { Metadata } from '../../contract/network-query.ts';
import { findPatient } from '../patients/patient-store.ts';
import type { AccountTx, Store } from '../platform/database/database.ts';
import { ExchangeError, NotFoundError, UnavailableError } from '../platform/errors.ts';
import type { LinkMaker } from '../platform/links/signed-link.ts';
import { PartnerFailure } from '../platform/partners/partner-http.ts';
import {
  deleteChallenge,
  deleteSession,
  findProofedIdentity,
  insertChallenge,
  insertSession,
} from './identity-store.ts';
import type { IdentityPartner } from './partner.ts';
import { checkRedirect } from './redirect-url.ts';

/** A person is given days: the address may reach them by post or e-mail. */
const SESSION_MS = 7 * 24 * 3_600_000;
/** A challenge is made when its person is there. */
const CHALLENGE_MS = 3_600_000;
/** A person who was verified in the last minute still has to find their way back. */
const RETURN_GRACE_MS = 3_600_000;

export interface VerificationDeps {
  store: Store;
  /** Undefined: nobody verifies people for this service. */
  identityPartner?: IdentityPartner;
  links: LinkMaker;
  publicBaseUrl: string;
  allowLoopbackWebhooks: boolean;
  /** Of tests; default the machine's. */
  clock?: () => Date;
}

/** Sessions and challenges at the identity partner. Each throws 400, 404, and 503 while the partner cannot be reached. */
export function createVerifications(deps: VerificationDeps) {
  const { store } = deps;
  const now = (): Date => deps.clock?.() ?? new Date();
  const callbackUrl = `${deps.publicBaseUrl}/identity/callback`;

  /** The row is there before the partner hears of it, so that no outcome comes too early; it goes when the partner refuses. */
  async function opened<T>(
    accountId: string,
    open: (partner: IdentityPartner) => Promise<T>,
    undo: (tx: AccountTx) => Promise<void>,
  ): Promise<T> {
    try {
      return await open(partnerOf(deps));
    } catch (error) {
      await store.asAccount(accountId, undo);
      if (!(error instanceof PartnerFailure)) throw error;
      throw new UnavailableError('The identity partner cannot be reached now; try again', { cause: error });
    }
  }

  return {
    async openSession(
      accountId: string,
      asked: { patientId: string; redirectUrl: string; metadata?: Metadata },
    ): Promise<{ sessionId: string; sessionUrl: string; expiresAt: Date }> {
      const { patientId, redirectUrl, metadata } = asked;
      checkRedirect(redirectUrl, { allowLoopback: deps.allowLoopbackWebhooks });
      partnerOf(deps);
      const sessionId = uuidv7();
      const expiresAt = new Date(now().getTime() + SESSION_MS);
      const person = await store.asAccount(accountId, async (tx) => {
        const patient = await findPatient(tx, patientId);
        if (patient === undefined) throw new NotFoundError('Patient');
        await insertSession(tx, { id: sessionId, patientId, redirectUrl, metadata, expiresAt });
        return patient;
      });
      const target = { accountId, targetId: sessionId };
      const { url } = await opened(
        accountId,
        (partner) =>
          partner.openSession({
            reference: sessionId,
            callbackUrl,
            returnUrl: deps.links.url('identity-session', target, SESSION_MS + RETURN_GRACE_MS, now()),
            expiresAt,
            person,
          }),
        (tx) => deleteSession(tx, sessionId),
      );
      return { sessionId, sessionUrl: url, expiresAt };
    },

    async openChallenge(
      accountId: string,
      asked: { proofedIdentityId: string; redirectUrl: string },
    ): Promise<{
      challengeId: string;
      challengeUrl: string;
      expiresAt: Date;
      method: string;
      patientId: string;
    }> {
      const { proofedIdentityId, redirectUrl } = asked;
      checkRedirect(redirectUrl, { allowLoopback: deps.allowLoopbackWebhooks });
      partnerOf(deps);
      const challengeId = uuidv7();
      const expiresAt = new Date(now().getTime() + CHALLENGE_MS);
      const { subject, patientId } = await store.asAccount(accountId, async (tx) => {
        const identity = await findProofedIdentity(tx, proofedIdentityId);
        if (identity === undefined) throw new NotFoundError('Verified identity');
        await insertChallenge(tx, { id: challengeId, proofedIdentityId, redirectUrl, expiresAt });
        return identity;
      });
      const target = { accountId, targetId: challengeId };
      const { url, method } = await opened(
        accountId,
        (partner) =>
          partner.openChallenge({
            reference: challengeId,
            callbackUrl,
            returnUrl: deps.links.url('aal2-challenge', target, CHALLENGE_MS + RETURN_GRACE_MS, now()),
            expiresAt,
            subject,
          }),
        (tx) => deleteChallenge(tx, challengeId),
      );
      return { challengeId, challengeUrl: url, expiresAt, method, patientId };
    },
  };
}

function partnerOf({ identityPartner }: VerificationDeps): IdentityPartner {
  if (identityPartner !== undefined) return identityPartner;
  throw new ExchangeError(503, 'This service has no identity partner; ask its operator');
}
