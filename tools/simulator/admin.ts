import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { FhirResource } from 'fhir/r4.js';
import { z } from 'zod';
import {
  letterRequest,
  submissionRequest,
} from '../../src/local-stack/simulator/letters.ts';
import { askGatewayRequest } from '../../src/local-stack/simulator/network.ts';
import { notifyRequest } from '../../src/local-stack/simulator/notifications.ts';
import {
  SOURCE_NAMES,
  type SourceName,
} from '../../src/local-stack/simulator/protocol.ts';
import { bearerToken, sameText } from './auth.ts';
import { addition, correction } from './data/corrections.ts';
import type { SourceData } from './data/source-data.ts';
import { applicableRule, type FaultBook } from './faults/rules.ts';
import { askGateway } from './ihe/initiating-gateway.ts';
import { submitMessage } from './ihe/submit-message.ts';
import type { MailFolder } from './mail/mail-folder.ts';
import { writeLetter } from './mail/write-letter.ts';
import { CannotNotifyError, type Notifier } from './notifications/notifier.ts';
import {
  type PartnerSettings,
  partnerSettingsChange,
} from './partners/settings.ts';
import { logFilter, type RequestLog } from './request-log.ts';
import { type Settings, settingsChange } from './settings.ts';

export interface AdminOptions {
  faults: FaultBook;
  settings: Settings;
  data: Record<SourceName, SourceData>;
  log: RequestLog;
  notifier: Notifier;
  partners: PartnerSettings;
  /** The inbox of the exchange; absent without a mail system. */
  inbox?: MailFolder;
  /**
   * Bearer token that the admin routes require; without it they are open to all
   * users of this machine.
   */
  token?: string;
}

/** More than the exchange accepts, so that its rejection can be tested. */
const LETTER_BYTES_MAX = 64 * 1024 * 1024;

const LOOPBACK = new Set(['127.0.0.1', '::1', '::ffff:127.0.0.1']);

/**
 * Routes with which tests and the demo control the sources and read their
 * request log. Served to this machine only.
 */
export async function adminRoutes(
  app: FastifyInstance,
  options: AdminOptions,
): Promise<void> {
  const { faults, settings, data, log, notifier, partners, inbox, token } =
    options;
  const clockOf = (source: SourceName) =>
    new Date(Date.now() + settings.of(source).clockAheadMs);
  app.addHook('onRequest', async (request, reply) => {
    const refused = refusalOf(request, token);
    if (refused)
      await reply.code(refused.status).send({ error: refused.error });
  });

  /**
   * Adds a route whose body, of GET the query, has this schema. Anything else
   * gets 400.
   */
  const add = <S extends z.ZodType>(
    method: 'GET' | 'POST' | 'PUT',
    url: string,
    schema: S,
    work: (asked: z.output<S>, reply: FastifyReply) => unknown,
    bodyLimit?: number,
  ) =>
    app.route({
      method,
      url,
      bodyLimit,
      handler: async (request, reply) => {
        const asked = schema.safeParse(
          method === 'GET' ? request.query : request.body,
        );
        return asked.success
          ? work(asked.data, reply)
          : reply.code(400).send({ error: z.prettifyError(asked.error) });
      },
    });
  /** Adds `DELETE` of a path. */
  const addReset = (url: string, reset: () => void) =>
    app.delete(url, (_, reply) => {
      reset();
      return reply.code(204).send();
    });

  app.get('/rules', () => faults.list());
  add('PUT', '/rules', z.array(applicableRule), (rules) => {
    faults.replace(rules);
    return faults.list();
  });
  addReset('/rules', () => faults.replace([]));

  app.get('/settings', () => settings.all());
  add('PUT', '/settings', settingsChange, (change) => {
    settings.change(change);
    return settings.all();
  });
  addReset('/settings', () => settings.reset());

  add('POST', '/corrections', correction, ({ source, resource, to }, reply) =>
    data[source].correct(resource, to, clockOf(source))
      ? reply.code(204).send()
      : reply.code(404).send({
          error:
            'This source has no such resource, or there is no such sample.',
        }),
  );
  add('PUT', '/resources', addition, ({ source, sample, resource }, reply) =>
    data[source].put(
      resource as unknown as FhirResource,
      sample,
      clockOf(source),
    )
      ? reply.code(204).send()
      : reply.code(404).send({ error: 'There is no such sample.' }),
  );
  addReset('/corrections', () => {
    for (const name of SOURCE_NAMES) data[name].undoCorrections();
  });

  add('PUT', '/partners', partnerSettingsChange, (change) => {
    partners.change(change);
    return { identity: partners.identity };
  });

  const deliver = async (
    letter: z.output<typeof letterRequest>,
    reply: FastifyReply,
  ) => {
    if (inbox === undefined)
      return reply.code(409).send({
        error:
          'To deliver letters, set SIMULATOR_MAIL_PORTS and SIMULATOR_MAIL_PASSWORD.',
      });
    const bytes = await writeLetter(letter);
    for (let times = 0; times < letter.times; times += 1) inbox.deliver(bytes);
    return reply.code(204).send();
  };
  add('POST', '/letters', letterRequest, deliver, LETTER_BYTES_MAX);

  add('POST', '/notifications', notifyRequest, (asked, reply) =>
    notifier.notify(asked).catch((error: unknown) => {
      if (!(error instanceof CannotNotifyError)) throw error;
      return reply.code(409).send({ error: error.message });
    }),
  );

  add('POST', '/gateway/ask', askGatewayRequest, ({ network, sample }, reply) =>
    askGateway(network, sample).catch((error: unknown) => {
      if (!(error instanceof Error)) throw error;
      return reply.code(409).send({ error: error.message });
    }),
  );

  add(
    'POST',
    '/gateway/submit',
    submissionRequest,
    (submission, reply) =>
      submitMessage(submission).catch((error: unknown) => {
        if (!(error instanceof Error)) throw error;
        return reply.code(409).send({ error: error.message });
      }),
    LETTER_BYTES_MAX,
  );

  add('GET', '/requests', logFilter, (filter) => log.list(filter));
}

function refusalOf(request: FastifyRequest, token: string | undefined) {
  // The address of the socket itself: forwarding headers must not be trusted
  // here.
  if (!LOOPBACK.has(request.socket.remoteAddress ?? ''))
    return {
      status: 403,
      error: 'The admin routes are served to this machine only.',
    };
  if (token && !sameText(bearerToken(request) ?? '', token))
    return {
      status: 401,
      error: 'Send the admin token (SIMULATOR_ADMIN_TOKEN) as a bearer token.',
    };
  return undefined;
}
