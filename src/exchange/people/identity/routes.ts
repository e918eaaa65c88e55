import type { FastifyInstance, FastifyReply } from 'fastify';
import { sendNotice } from '../../../lib/pages/notice-page.ts';
import type { AccountTx } from '../../platform/database/database.ts';
import { orNotFound } from '../../platform/errors.ts';
import type { GatewayPlatform } from '../../platform/http/deps.ts';
import { ok } from '../../platform/http/operation.ts';
import type { Operations } from '../../platform/http/operations.ts';
import {
  refuseUnsigned,
  verifySourceCallback,
} from '../../platform/http/signed-callback.ts';
import {
  addSignedLinkRoute,
  auditLink,
} from '../../platform/http/signed-link-route.ts';
import { aal2SessionId } from './aal2-session.ts';
import { handleIdentityCallback } from './callback.ts';
import {
  findChallenge,
  findIdentityOfSession,
  findProofedIdentity,
  findSession,
  type StoredChallenge,
  type StoredSession,
} from './identity-store.ts';
import type { VerificationState } from './tables.ts';
import {
  createVerifications,
  redirectWith,
  type VerificationDeps,
} from './verifications.ts';

/**
 * Identity sessions and AAL2 challenges (docs/interface.md, "Individual access
 * (IAS)").
 */
export function addIdentityRoutes(
  operations: Operations,
  deps: GatewayPlatform & Pick<VerificationDeps, 'identityPartner'>,
): void {
  const verifications = createVerifications(deps);
  const now = (): Date => deps.clock?.() ?? new Date();

  operations.act('createIdentitySession', async ({ body, caller }) => {
    const session = await verifications.openSession(caller.account.id, body);
    const { sessionId, sessionUrl, expiresAt } = session;
    return ok(
      {
        sessionId,
        sessionUrl,
        expiresAt: expiresAt.toISOString(),
        status: 'pending' as const,
      },
      { patientId: body.patientId, targetId: sessionId },
    );
  });

  operations.read('getIdentitySession', async (tx, { params }) => {
    const session = orNotFound(
      'Identity session',
      await findSession(tx, params.id),
    );
    const identity = await findIdentityOfSession(tx, session.id);
    return ok({
      sessionId: session.id,
      patientId: session.patientId,
      status: verificationState(session, now()),
      expiresAt: session.expiresAt.toISOString(),
      proofedIdentityId: identity?.id,
      verifiedAt: identity?.verifiedAt.toISOString(),
      reason: session.reason ?? undefined,
    });
  });

  operations.act('createAal2Challenge', async ({ body, caller }) => {
    const { patientId, expiresAt, ...challenge } =
      await verifications.openChallenge(caller.account.id, body);
    return ok(
      { ...challenge, expiresAt: expiresAt.toISOString() },
      { patientId, targetId: challenge.challengeId },
    );
  });

  operations.read('getAal2Challenge', async (tx, { params }) => {
    const challenge = orNotFound(
      'Challenge',
      await findChallenge(tx, params.id),
    );
    const { id, status, sessionExpiresAt } = challenge;
    const identity = await findProofedIdentity(tx, challenge.proofedIdentityId);
    const isActive =
      status === 'verified' &&
      sessionExpiresAt !== null &&
      sessionExpiresAt > now();
    return ok(
      {
        challengeId: id,
        status: verificationState(challenge, now()),
        expiresAt: challenge.expiresAt.toISOString(),
        aal2SessionId: isActive
          ? aal2SessionId(deps.linkSigningKey, id)
          : undefined,
        sessionExpiresAt: sessionExpiresAt?.toISOString(),
        reason: challenge.reason ?? undefined,
      },
      {
        patientId: identity?.patientId,
        targetId: id,
        headers: { 'cache-control': 'no-store' },
      },
    );
  });
}

const verificationState = (
  { status, expiresAt }: { status: VerificationState; expiresAt: Date },
  now: Date,
): VerificationState | 'expired' =>
  status === 'pending' && expiresAt <= now ? 'expired' : status;

const BODY_BYTES_MAX = 64 * 1024;

/**
 * Adds the route for the identity partner's outcomes. It needs no API key: the
 * partner signs the body, which stays raw bytes, because the signature covers
 * them.
 */
export function addIdentityCallbackRoute(
  app: FastifyInstance,
  deps: Pick<
    GatewayPlatform,
    'store' | 'webhookDispatcher' | 'linkSigningKey' | 'clock'
  > & {
    /** Key with which the identity partner signs its callbacks. */
    identitySecret?: string;
  },
): void {
  refuseUnsigned(app);
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(
    '*',
    { parseAs: 'buffer', bodyLimit: BODY_BYTES_MAX },
    (_request, body, done) => done(null, body),
  );
  app.post(
    '/identity/callback',
    { schema: { hide: true }, config: { operation: 'identityCallback' } },
    async (request, reply) => {
      const body = Buffer.isBuffer(request.body)
        ? request.body
        : Buffer.alloc(0);
      const { identitySecret } = deps;
      if (identitySecret === undefined) return reply.code(404).send();
      if (
        !verifySourceCallback(identitySecret, request.headers, body).isGenuine
      )
        return reply.code(401).send();
      const { status } = await handleIdentityCallback(deps, body);
      return reply.code(status).send();
    },
  );
}

/**
 * A browser that arrives before the partner's outcome reloads after this time.
 */
const WAIT_SECONDS = 2;

/**
 * Adds the routes to which the partner sends the person's browser. They
 * redirect to the caller's URL with the outcome. Only the partner's signed
 * callback decides the outcome, never the visit itself; until it arrives, the
 * browser reloads.
 */
export function addIdentityReturnRoutes(
  app: FastifyInstance,
  deps: Pick<GatewayPlatform, 'store' | 'linkSigningKey' | 'clock'>,
): void {
  const isOpen = ({
    status,
    expiresAt,
  }: {
    status: VerificationState;
    expiresAt: Date;
  }): boolean =>
    status === 'pending' && expiresAt > (deps.clock?.() ?? new Date());

  function addReturn<Opened extends StoredSession | StoredChallenge>(
    link: 'identity-session' | 'aal2-challenge',
    operation: string,
    find: (tx: AccountTx, id: string) => Promise<Opened>,
    paramsOf: (opened: Opened) => Record<string, string>,
  ): void {
    const answer: Parameters<typeof addSignedLinkRoute>[4] = async (
      { accountId, targetId },
      request,
      reply,
    ) => {
      const opened = await deps.store.asAccount(accountId, async (tx) => {
        const found = await find(tx, targetId);
        const patientId = 'patientId' in found ? found.patientId : undefined;
        await auditLink(tx, request, { operation, patientId, targetId });
        return found;
      });
      if (isOpen(opened)) return sendWaitingPage(reply);
      return redirect(reply, opened.redirectUrl, paramsOf(opened));
    };
    addSignedLinkRoute(app, deps, link, operation, answer, {
      isForPeople: true,
    });
  }

  addReturn(
    'identity-session',
    'returnFromIdentitySession',
    async (tx, id) => orNotFound('Identity session', await findSession(tx, id)),
    (session) => ({
      sessionId: session.id,
      status: verificationOutcome(session),
    }),
  );
  addReturn(
    'aal2-challenge',
    'returnFromAal2Challenge',
    async (tx, id) => orNotFound('Challenge', await findChallenge(tx, id)),
    (challenge) => ({
      status: verificationOutcome(challenge),
      ...(challenge.status === 'verified' && {
        aal2SessionId: aal2SessionId(deps.linkSigningKey, challenge.id),
      }),
    }),
  );
}

/** A verification that expired without an outcome counts as failed. */
const verificationOutcome = ({
  status,
}: {
  status: VerificationState;
}): 'verified' | 'failed' => (status === 'verified' ? 'verified' : 'failed');

/**
 * No referrer: the address of this page is a secret, and the next page must not
 * receive it.
 */
const redirect = (
  reply: FastifyReply,
  address: string,
  params: Record<string, string>,
): FastifyReply =>
  reply
    .code(303)
    .headers({
      location: redirectWith(address, params),
      'referrer-policy': 'no-referrer',
    })
    .send();

/** Names no person, because the link alone opens it. */
const sendWaitingPage = (reply: FastifyReply): FastifyReply =>
  sendNotice(
    reply.header('refresh', String(WAIT_SECONDS)),
    'One moment',
    'The identity service has not yet reported whether you are confirmed. As soon as it has, this page takes you back to the application that asked for your medical records. Nothing is left for you to do here.',
  );
