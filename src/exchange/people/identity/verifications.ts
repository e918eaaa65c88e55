import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { v7 as uuidv7 } from 'uuid';
import type { Metadata } from '../../../contract/network-query.ts';
import type { AccountTx, Store } from '../../platform/database/database.ts';
import {
  ExchangeError,
  InvalidRequestError,
  NotFoundError,
  UnavailableError,
} from '../../platform/errors.ts';
import type { LinkMaker } from '../../platform/links/signed-link.ts';
import { PartnerFailure } from '../../platform/partners/partner-http.ts';
import { findPatient } from '../patients/patient-store.ts';
import {
  deleteChallenge,
  deleteSession,
  findProofedIdentity,
  insertChallenge,
  insertSession,
} from './identity-store.ts';
import type { IdentityPartner } from './partner.ts';

/** Lifetime of a session. The person has days, because the link may arrive by post or e-mail. */
const SESSION_MS = 7 * 24 * 3_600_000;
/** Lifetime of a challenge, which is started while the person is present. */
const CHALLENGE_MS = 3_600_000;
/** The return link outlives the verification, so that a person verified in the last minute can still return. */
const RETURN_GRACE_MS = 3_600_000;

export interface VerificationDeps {
  store: Store;
  /** Verifies identities for individual access; without it, identity operations return 503. */
  identityPartner?: IdentityPartner;
  links: LinkMaker;
  publicBaseUrl: string;
  allowLoopbackWebhooks: boolean;
  /** For tests; default: the system clock. */
  clock?: () => Date;
}

/** Opens sessions and challenges at the identity partner. Both throw 400, 404, and 503 when the partner cannot be reached. */
export function createVerifications(deps: VerificationDeps) {
  const { store } = deps;
  const now = (): Date => deps.clock?.() ?? new Date();
  const callbackUrl = `${deps.publicBaseUrl}/identity/callback`;

  /**
   * Calls the partner. The caller has committed the row before, so that no outcome arrives too early; `undo` deletes it when
   * the partner refuses.
   */
  async function openAtPartner<T>(
    accountId: string,
    open: (partner: IdentityPartner) => Promise<T>,
    undo: (tx: AccountTx) => Promise<void>,
  ): Promise<T> {
    try {
      return await open(partnerOf(deps));
    } catch (error) {
      await store.asAccount(accountId, undo);
      if (!(error instanceof PartnerFailure)) throw error;
      throw new UnavailableError('The identity partner cannot be reached now; try again later', {
        cause: error,
      });
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
      const { url } = await openAtPartner(
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
      const { url, method } = await openAtPartner(
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
  throw new ExchangeError(
    503,
    'Identities cannot be verified: no identity partner is configured; ask the operator of this service',
  );
}

/**
 * Why a browser may not be redirected to this URL; undefined when it may. Only https is allowed: no script schemes, and no
 * custom schemes that another app could claim. User names and fragments are refused, because they can mislead a reader of the
 * address. `allowLoopback` also allows http to this machine, for the embedded stack.
 */
function refusedRedirect(address: string, { allowLoopback }: { allowLoopback: boolean }): string | undefined {
  if (!URL.canParse(address)) return 'is not a URL';
  const url = new URL(address);
  if (url.username !== '' || url.password !== '') return 'must not carry a user name or password';
  if (url.hash !== '') return 'must not carry a fragment';
  if (url.protocol === 'https:') return undefined;
  const isLoopback = url.protocol === 'http:' && isLoopbackHost(url.hostname.replace(/^\[|\]$/g, ''));
  return isLoopback && allowLoopback ? undefined : 'must be an https address';
}

/** Throws InvalidRequestError for a URL that `refusedRedirect` refuses. */
function checkRedirect(address: string, rules: { allowLoopback: boolean }): void {
  const refused = refusedRedirect(address, rules);
  if (refused !== undefined) throw new InvalidRequestError([{ path: 'redirectUrl', message: refused }]);
}

/** The caller's URL with the outcome as query parameters. Its other parameters stay; those of the same name are replaced. */
export function redirectWith(address: string, params: Readonly<Record<string, string>>): string {
  const url = new URL(address);
  for (const [name, value] of Object.entries(params)) url.searchParams.set(name, value);
  return url.href;
}

const isLoopbackHost = (host: string): boolean =>
  host === 'localhost' || (isIP(host) !== 0 && ipaddr.process(host).range() === 'loopback');
