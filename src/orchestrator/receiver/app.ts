import { hash } from 'node:crypto';
import {
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  fastify,
} from 'fastify';
import { z } from 'zod';
import { prepareDraining, SERVES_WHILE_CLOSING } from '../../lib/draining.ts';
import { sendNotice } from '../../lib/pages/notice-page.ts';
import { traceRequests } from '../../lib/tracing/trace-requests.ts';
import {
  jobIdSchema,
  readOnboardingRequest,
} from '../patient-onboarding/onboarding-request.ts';
import { isSigned } from './signatures.ts';
import { parseJson } from './webhook-message.ts';
import {
  type ReceiverDeps,
  rawBodyOf,
  registerWebhooks,
  sendProblem,
} from './webhooks-route.ts';

const BODY_SIZE_MAX_BYTES = 1024 * 1024;
const REQUEST_TIMEOUT_MS = 15_000;

/**
 * Receives `POST /webhooks` from the exchange, `POST /intake` and
 * `/intake/confirmation` from an EHR or form, and `GET /return/…` from
 * browsers; also serves `GET /health` and `/ready`. Bodies stay raw, because
 * signatures cover bytes.
 */
export function createReceiver(deps: ReceiverDeps): FastifyInstance {
  const app = fastify({
    ...SERVES_WHILE_CLOSING,
    bodyLimit: BODY_SIZE_MAX_BYTES,
    requestTimeout: REQUEST_TIMEOUT_MS,
  });
  traceRequests(app);
  prepareDraining(app);
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) =>
    done(null, body),
  );

  registerWebhooks(app, deps);
  registerIntake(app, deps);
  registerConfirmation(app, deps);
  registerReturn(app, deps);
  app.get('/health', async () => ({ status: 'ok' }));
  app.get('/ready', async (_request, reply) => {
    if (await deps.onboardings.isReachable()) return { status: 'ready' };
    return sendProblem(
      reply,
      503,
      'Service unavailable',
      'Temporal cannot be reached',
    );
  });

  app.setNotFoundHandler((_request, reply) =>
    sendProblem(
      reply,
      404,
      'Not found',
      'This server has POST /webhooks, POST /intake, GET /health and GET /ready',
    ),
  );
  app.setErrorHandler((error: { statusCode?: number }, _request, reply) => {
    if (error.statusCode === 413)
      return sendProblem(
        reply,
        413,
        'Payload too large',
        `The body may have at most ${BODY_SIZE_MAX_BYTES} bytes`,
      );
    if (error.statusCode !== undefined && error.statusCode < 500)
      return sendProblem(
        reply,
        400,
        'Bad request',
        'The request is not valid HTTP',
      );
    deps.logger.error({ err: error }, 'receiver failed');
    return sendProblem(
      reply,
      500,
      'Internal server error',
      'The request failed on our side; send it again',
    );
  });
  return app;
}

const confirmationSchema = z.object({
  jobId: jobIdSchema,
  aal2SessionId: z.string().min(1).max(500),
});

/**
 * An intake route: 401 without a valid signature, 503 when `handle` fails
 * because Temporal is down.
 */
function registerSigned(
  app: FastifyInstance,
  { intakeKeys, logger }: ReceiverDeps,
  path: string,
  handle: (
    request: FastifyRequest,
    reply: FastifyReply,
    rawBody: Buffer,
  ) => Promise<unknown>,
): void {
  app.post(path, async (request, reply) => {
    const rawBody = rawBodyOf(request.body);
    if (!isSigned(rawBody, request.headers, intakeKeys))
      return sendProblem(
        reply,
        401,
        'Unauthorized',
        'The signature is missing, invalid or too old',
      );
    try {
      return await handle(request, reply, rawBody);
    } catch (error) {
      logger.error({ err: error, path }, 'Temporal did not take an intake');
      return sendProblem(
        reply.header('retry-after', '5'),
        503,
        'Service unavailable',
        'Temporal cannot be reached; send the request again in a few seconds',
      );
    }
  });
}

/**
 * `POST /intake/confirmation` `{jobId, aal2SessionId}`, signed with INTAKE_KEY:
 * reports that the person of that job's onboarding has authenticated with two
 * factors and returned to the redirect address with this session. Responds 202;
 * 400 for an invalid body; 401 without a valid signature; 404 when no such
 * onboarding is running; 503 when Temporal is down.
 */
function registerConfirmation(app: FastifyInstance, deps: ReceiverDeps): void {
  registerSigned(
    app,
    deps,
    '/intake/confirmation',
    async (_, reply, rawBody) => {
      const confirmation = confirmationSchema.safeParse(parseJson(rawBody));
      if (!confirmation.success)
        return sendProblem(
          reply,
          400,
          'Missing or invalid parameters',
          'jobId and aal2SessionId are required',
        );
      const { jobId, aal2SessionId } = confirmation.data;
      if (await deps.onboardings.signalConfirmed(jobId, { aal2SessionId }))
        return reply.code(202).send({ message: 'taken' });
      return sendProblem(
        reply,
        404,
        'Not found',
        'No onboarding for this job is running',
      );
    },
  );
}

/**
 * `POST /intake` `{jobId, facilityId, patient, cohortIds?, sources?, ias?,
 * metadata?}`, signed with INTAKE_KEY: starts the onboarding of that job, once.
 * Responds 202 `{workflowId}`; 400 with the list of problems; 401 without a
 * valid signature; 422 when the job was started with another patient; 503 when
 * Temporal is down.
 */
function registerIntake(app: FastifyInstance, deps: ReceiverDeps): void {
  registerSigned(app, deps, '/intake', async (request, reply, rawBody) => {
    const body = parseJson(rawBody);
    const read = body === undefined ? NOT_JSON : readOnboardingRequest(body);
    if (!read.ok) {
      const texts = read.problems.map(({ path, message }) =>
        path === '' ? message : `${path}: ${message}`,
      );
      return sendProblem(
        reply,
        400,
        'Missing or invalid parameters',
        texts.join(', '),
        read.problems,
      );
    }
    const workflowId = await deps.onboardings.start(
      read.request,
      messageIdOf(request, rawBody),
    );
    if (workflowId === undefined)
      return sendProblem(reply, 422, 'Unprocessable content', OTHER_PATIENT);
    deps.logger.info({ workflowId }, 'intake taken');
    return reply.code(202).send({ workflowId });
  });
}

const OTHER_PATIENT =
  'This jobId was used for another patient or facility; nothing was changed. Send another jobId for this patient';

const NOT_JSON = {
  ok: false as const,
  problems: [{ path: '', message: 'The body is not valid JSON' }],
};

/**
 * The sender's id of this message, or else its content. Hashed, because senders
 * may use record numbers as ids.
 */
const messageIdOf = (request: FastifyRequest, rawBody: Buffer): string =>
  hash('sha256', request.headers['webhook-id']?.toString() ?? rawBody).slice(
    0,
    32,
  );

const paramsSchema = z.object({
  orchestrationId: z.string().regex(/^[\w-]{1,64}$/),
});
/**
 * The parameters that the exchange adds to the address. The first page also
 * adds `sessionId`, which we already know.
 */
const querySchema = z.object({
  status: z.string().max(50).optional().catch(undefined),
  aal2SessionId: z.string().min(1).max(500).optional().catch(undefined),
});

/**
 * `GET /return/<orchestration id>`: the page to which the identity partner
 * redirects the person, for callers that do not have one of their own
 * (`redirectUrl` of the onboarding). A visit proves nothing, so it only signals
 * the onboarding to poll the exchange. The session in the address is used only
 * with an exchange that cannot report it itself.
 */
function registerReturn(
  app: FastifyInstance,
  { onboardings, logger }: ReceiverDeps,
): void {
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
      logger.error(
        { err: error },
        'could not signal a return to its onboarding',
      );
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

const sendPage = (
  reply: FastifyReply,
  status: number,
  { title, text }: Page,
): FastifyReply => sendNotice(reply.code(status), title, text);
