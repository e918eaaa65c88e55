import type { FastifyInstance, FastifyReply } from 'fastify';
import { z } from 'zod';
import { sendNotice } from '../../lib/pages/notice-page.ts';
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

const sendPage = (reply: FastifyReply, status: number, { title, text }: Page): FastifyReply =>
  sendNotice(reply.code(status), title, text);
