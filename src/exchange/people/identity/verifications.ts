import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { v7 as uuidv7 } from 'uuid';
import type { Metadata } from '../../../contract/network-query.ts';
import type { AccountTx } from '../../platform/database/database.ts';
import {
  ExchangeError,
  InvalidRequestError,
  orNotFound,
  UnavailableError,
} from '../../platform/errors.ts';
import type { GatewayPlatform } from '../../platform/http/deps.ts';
import { PartnerFailure } from '../../platform/partners/partner-http.ts';
import { findPatient } from '../patients/patient-store.ts';
import {
  deleteChallenge,
  deleteSession,
  findProofedIdentity,
  insertChallenge,
  insertSession,
} from './identity-store.ts';
import type { IdentityPartner, Opening } from './partner.ts';

/**
 * Lifetime of a session. The person has days, because the link may arrive by
 * post or e-mail.
 */
const SESSION_MS = 7 * 24 * 3_600_000;
/** Lifetime of a challenge, which is started while the person is present. */
const CHALLENGE_MS = 3_600_000;
/**
 * The return link outlives the verification, so that a person verified in the
 * last minute can still return.
 */
const RETURN_GRACE_MS = 3_600_000;

export interface VerificationDeps
  extends Pick<
    GatewayPlatform,
    'store' | 'links' | 'publicBaseUrl' | 'allowLoopbackWebhooks' | 'clock'
  > {
  /**
   * Verifies identities for individual access; without it, identity operations
   * return 503.
   */
  identityPartner?: IdentityPartner;
}

/**
 * Opens sessions and challenges at the identity partner. Both throw 400, 404,
 * and 503 when the partner cannot be reached.
 */
export function createVerifications(deps: VerificationDeps) {
  const { store } = deps;
  const now = (): Date => deps.clock?.() ?? new Date();
  const callbackUrl = `${deps.publicBaseUrl}/identity/callback`;

  /**
   * Opens a session or a challenge. Its row is committed before the partner is
   * called, so that no outcome arrives too early, and deleted when the partner
   * refuses.
   */
  async function open<Subject, Opened>(
    accountId: string,
    { redirectUrl }: { redirectUrl: string },
    how: {
      link: 'identity-session' | 'aal2-challenge';
      lifetimeMs: number;
      insert(
        tx: AccountTx,
        row: { id: string; redirectUrl: string; expiresAt: Date },
      ): Promise<Subject>;
      call(
        partner: IdentityPartner,
        asked: Opening,
        subject: Subject,
      ): Promise<Opened>;
      remove(tx: AccountTx, id: string): Promise<void>;
    },
  ): Promise<{
    id: string;
    expiresAt: Date;
    subject: Subject;
    opened: Opened;
  }> {
    checkRedirect(redirectUrl, { allowLoopback: deps.allowLoopbackWebhooks });
    const partner = partnerOf(deps);
    const id = uuidv7();
    const expiresAt = new Date(now().getTime() + how.lifetimeMs);
    const subject = await store.asAccount(accountId, (tx) =>
      how.insert(tx, { id, redirectUrl, expiresAt }),
    );
    const target = { accountId, targetId: id };
    const returnUrl = deps.links.url(
      how.link,
      target,
      how.lifetimeMs + RETURN_GRACE_MS,
      now(),
    );
    try {
      const opened = await how.call(
        partner,
        { reference: id, callbackUrl, returnUrl, expiresAt },
        subject,
      );
      return { id, expiresAt, subject, opened };
    } catch (error) {
      await store.asAccount(accountId, (tx) => how.remove(tx, id));
      if (!(error instanceof PartnerFailure)) throw error;
      throw new UnavailableError(
        'The identity partner cannot be reached now; try again later',
        {
          cause: error,
        },
      );
    }
  }

  return {
    async openSession(
      accountId: string,
      asked: { patientId: string; redirectUrl: string; metadata?: Metadata },
    ): Promise<{ sessionId: string; sessionUrl: string; expiresAt: Date }> {
      const { patientId, metadata } = asked;
      const { id, expiresAt, opened } = await open(accountId, asked, {
        link: 'identity-session',
        lifetimeMs: SESSION_MS,
        remove: deleteSession,
        async insert(tx, row) {
          const patient = orNotFound(
            'Patient',
            await findPatient(tx, patientId),
          );
          await insertSession(tx, { ...row, patientId, metadata });
          return patient;
        },
        call: (partner, request, person) =>
          partner.openSession({ ...request, person }),
      });
      return { sessionId: id, sessionUrl: opened.url, expiresAt };
    },

    async openChallenge(
      accountId: string,
      asked: { proofedIdentityId: string; redirectUrl: string },
    ) {
      const { proofedIdentityId } = asked;
      const { id, expiresAt, subject, opened } = await open(accountId, asked, {
        link: 'aal2-challenge',
        lifetimeMs: CHALLENGE_MS,
        remove: deleteChallenge,
        async insert(tx, row) {
          const identity = orNotFound(
            'Verified identity',
            await findProofedIdentity(tx, proofedIdentityId),
          );
          await insertChallenge(tx, { ...row, proofedIdentityId });
          return identity;
        },
        call: (partner, request, identity) =>
          partner.openChallenge({ ...request, subject: identity.subject }),
      });
      const { url: challengeUrl, method } = opened;
      return {
        challengeId: id,
        challengeUrl,
        expiresAt,
        method,
        patientId: subject.patientId,
      };
    },
  };
}

function partnerOf({ identityPartner }: VerificationDeps): IdentityPartner {
  if (identityPartner !== undefined) return identityPartner;
  throw new ExchangeError(
    503,
    'Identities cannot be verified: no identity partner is configured; ask the operator of this service',
    { code: 'not-configured' },
  );
}

/**
 * Why a browser may not be redirected to this URL; undefined when it may. Only
 * https is allowed: no script schemes, and no custom schemes that another app
 * could claim. User names and fragments are refused, because they can mislead a
 * reader of the address. `allowLoopback` also allows http to this machine, for
 * the embedded stack.
 */
function refusedRedirect(
  address: string,
  { allowLoopback }: { allowLoopback: boolean },
): string | undefined {
  if (!URL.canParse(address)) return 'is not a URL';
  const url = new URL(address);
  if (url.username !== '' || url.password !== '')
    return 'must not carry a user name or password';
  if (url.hash !== '') return 'must not carry a fragment';
  if (url.protocol === 'https:') return undefined;
  const isLoopback =
    url.protocol === 'http:' &&
    isLoopbackHost(url.hostname.replace(/^\[|\]$/g, ''));
  return isLoopback && allowLoopback ? undefined : 'must be an https address';
}

/** Throws InvalidRequestError for a URL that `refusedRedirect` refuses. */
function checkRedirect(
  address: string,
  rules: { allowLoopback: boolean },
): void {
  const refused = refusedRedirect(address, rules);
  if (refused !== undefined)
    throw new InvalidRequestError([{ path: 'redirectUrl', message: refused }]);
}

/**
 * The caller's URL with the outcome as query parameters. Its other parameters
 * stay; those of the same name are replaced.
 */
export function redirectWith(
  address: string,
  params: Readonly<Record<string, string>>,
): string {
  const url = new URL(address);
  for (const [name, value] of Object.entries(params))
    url.searchParams.set(name, value);
  return url.href;
}

const isLoopbackHost = (host: string): boolean =>
  host === 'localhost' ||
  (isIP(host) !== 0 && ipaddr.process(host).range() === 'loopback');
