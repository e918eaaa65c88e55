import type { FastifyInstance, FastifyReply } from 'fastify';
import { z } from 'zod';
import type { ReceiverDeps } from './receiver-deps.ts';

const paramsSchema = z.object({ orchestrationId: z.string().regex(/^[\w-]{1,64}$/) });
/** What the exchange adds to the address. Of the first page `sessionId`, which the onboarding knows. */
const querySchema = z.object({
  status: z.string().max(50).optional().catch(undefined),
  aal2SessionId: z.string().min(1).max(500).optional().catch(undefined),
});

/**
 * `GET /return/<orchestration id>`: a page for the person who comes back from the identity partner, for callers without one of
 * their own: it is the onboarding's `redirectUrl`. That somebody came here proves nothing: the onboarding is told to look, and
 * takes the session that is brought only from an exchange that does not tell it.
 */
export function registerReturn(app: FastifyInstance, { onboardings, logger }: ReceiverDeps): void {
  app.get('/return/:orchestrationId', async (request, reply) => {
    const params = paramsSchema.safeParse(request.params);
    const { status, aal2SessionId } = querySchema.parse(request.query);
    if (!params.success) return sendPage(reply, 404, UNKNOWN);
    try {
      const isKnown = await onboardings.tellReturned(
        params.data.orchestrationId,
        status === 'verified' ? { aal2SessionId } : {},
      );
      if (!isKnown) return sendPage(reply, 404, UNKNOWN);
    } catch (error) {
      // The onboarding will look by itself.
      logger.error({ err: error }, 'a return could not be passed on');
    }
    return sendPage(reply, 200, status === 'verified' ? THANKS : FAILED);
  });
}

interface Page {
  title: string;
  text: string;
}

const THANKS: Page = { title: 'Thank you', text: 'You may close this page, unless you were asked for more.' };
const FAILED: Page = { title: 'Not confirmed', text: 'This could not be confirmed. Ask for a new link.' };
const UNKNOWN: Page = { title: 'Nothing to do', text: 'Nobody waits for an answer at this address.' };

/** The address holds a session: it goes nowhere as a referrer and into no cache. */
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
