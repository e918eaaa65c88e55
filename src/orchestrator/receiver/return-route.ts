import type { FastifyInstance, FastifyReply } from 'fastify';
import { z } from 'zod';
import type { ReceiverDeps } from './receiver-deps.ts';

const paramsSchema = z.object({ orchestrationId: z.string().regex(/^[\w-]{1,64}$/) });
/** The parameters that the exchange adds to the address. The first page also adds `sessionId`, which we already know. */
const querySchema = z.object({
  status: z.string().max(50).optional().catch(undefined),
  aal2SessionId: z.string().min(1).max(500).optional().catch(undefined),
});

/**
 * `GET /return/<orchestration id>`: the page to which the identity partner redirects the person, for callers that do not
 * have one of their own (`redirectUrl` of the onboarding). A visit proves nothing, so it only signals the onboarding to poll
 * the exchange. The session in the address is used only with an exchange that cannot report it itself.
 */
export function registerReturn(app: FastifyInstance, { onboardings, logger }: ReceiverDeps): void {
  app.get('/return/:orchestrationId', async (request, reply) => {
    const params = paramsSchema.safeParse(request.params);
    const { status, aal2SessionId } = querySchema.parse(request.query);
    if (!params.success) return sendPage(reply, 404, UNKNOWN);
    try {
      const isKnown = await onboardings.signalReturned(
        params.data.orchestrationId,
        status === 'verified' ? { aal2SessionId } : {},
      );
      if (!isKnown) return sendPage(reply, 404, UNKNOWN);
    } catch (error) {
      // The onboarding polls anyway.
      logger.error({ err: error }, 'could not signal a return to its onboarding');
    }
    return sendPage(reply, 200, status === 'verified' ? THANKS : FAILED);
  });
}

interface Page {
  title: string;
  text: string;
}

const THANKS: Page = {
  title: 'Thank you',
  text: 'The application that sent you here collects your medical records from the health networks once every step is confirmed. If another page of this request is still open, please complete it. You can close this page.',
};
const FAILED: Page = {
  title: 'Not confirmed',
  text: 'Your identity could not be confirmed. Without that, your medical records cannot be requested on your behalf. To try again, ask the organization that sent you the link for a new one.',
};
const UNKNOWN: Page = {
  title: 'Nothing to do',
  text: 'This link is not in use: it may have expired, or its request may be complete. If you still expect to confirm your identity, ask the organization that sent you the link for a new one.',
};

/** The address contains a session id, so it must not be sent as a referrer or be cached. */
const sendPage = (reply: FastifyReply, status: number, { title, text }: Page): FastifyReply =>
  reply
    .code(status)
    .headers({
      'referrer-policy': 'no-referrer',
      'cache-control': 'no-store',
      'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
    })
    .type('text/html; charset=utf-8')
    .send(
      `<!doctype html><html lang="en"><meta name="viewport" content="width=device-width"><title>${title}</title><h1>${title}</h1><p>${text}</p></html>`,
    );
