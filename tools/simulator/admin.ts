import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { FhirResource } from 'fhir/r4.js';
import { z } from 'zod';
import { bearerToken, sameText } from './auth.ts';
import { addition, correction } from './data/corrections.ts';
import type { SourceData } from './data/source-data.ts';
import { type FaultBook, faultRule } from './faults/rules.ts';
import { CannotNotifyError, type Notifier } from './notifications/notifier.ts';
import { notifyRequest } from './notifications/request.ts';
import type { Carried, Deliver } from './partners/messages.ts';
import { type PartnerSettings, partnerSettingsChange } from './partners/settings.ts';
import { SOURCE_NAMES, type SourceName } from './protocol.ts';
import type { RequestLog } from './request-log.ts';
import { type Settings, settingsChange } from './settings.ts';

export interface AdminOptions {
  faults: FaultBook;
  settings: Settings;
  data: Record<SourceName, SourceData>;
  log: RequestLog;
  notifier: Notifier;
  partners: PartnerSettings;
  /** The messages that the transport partner accepted. */
  carried: ReadonlyMap<string, Carried>;
  /** Delivers a message to the exchange; absent when no exchange is configured. */
  deliver?: Deliver;
  /** Bearer token that the admin routes require; without it they are open to all users of this machine. */
  token?: string;
}

/** More than the exchange accepts, so that its rejection can be tested. */
const MESSAGE_BYTES_MAX = 64 * 1024 * 1024;

const LOOPBACK = new Set(['127.0.0.1', '::1', '::ffff:127.0.0.1']);

const logFilter = z.object({
  source: z.enum(SOURCE_NAMES).optional(),
  sample: z.string().optional(),
  operation: z.string().optional(),
  after: z.coerce.number().int().optional(),
});

/** Routes with which tests and the demo control the sources and read their request log. Served to this machine only. */
export async function adminRoutes(app: FastifyInstance, options: AdminOptions): Promise<void> {
  const { faults, settings, data, log, notifier, partners, carried, deliver, token } = options;
  const clockOf = (source: SourceName) => new Date(Date.now() + settings.of(source).clockAheadMs);
  app.addHook('onRequest', async (request, reply) => {
    const refused = refusalOf(request, token);
    if (refused) await reply.code(refused.status).send({ error: refused.error });
  });

  app.get('/rules', () => faults.list());
  app.put('/rules', (request, reply) => {
    const rules = z.array(faultRule).safeParse(request.body);
    if (!rules.success) return invalid(reply, rules.error);
    faults.replace(rules.data);
    return faults.list();
  });
  app.delete('/rules', (_, reply) => {
    faults.replace([]);
    return reply.code(204).send();
  });

  app.get('/settings', () => settings.all());
  app.put('/settings', (request, reply) => {
    const change = settingsChange.safeParse(request.body);
    if (!change.success) return invalid(reply, change.error);
    settings.change(change.data);
    return settings.all();
  });
  app.delete('/settings', (_, reply) => {
    settings.reset();
    return reply.code(204).send();
  });

  app.post('/corrections', (request, reply) => {
    const asked = correction.safeParse(request.body);
    if (!asked.success) return invalid(reply, asked.error);
    const { source, resource, to } = asked.data;
    if (data[source].correct(resource, to, clockOf(source))) return reply.code(204).send();
    return reply.code(404).send({ error: 'This source has no such resource, or there is no such sample.' });
  });
  app.put('/resources', (request, reply) => {
    const asked = addition.safeParse(request.body);
    if (!asked.success) return invalid(reply, asked.error);
    const { source, sample, resource } = asked.data;
    if (data[source].put(resource as unknown as FhirResource, sample, clockOf(source)))
      return reply.code(204).send();
    return reply.code(404).send({ error: 'There is no such sample.' });
  });
  app.delete('/corrections', (_, reply) => {
    for (const name of SOURCE_NAMES) data[name].undoCorrections();
    return reply.code(204).send();
  });

  app.put('/partners', (request, reply) => {
    const change = partnerSettingsChange.safeParse(request.body);
    if (!change.success) return invalid(reply, change.error);
    partners.change(change.data);
    return { identity: partners.identity, messages: partners.messages };
  });

  app.post('/messages', { bodyLimit: MESSAGE_BYTES_MAX }, async (request, reply) => {
    const message = z.looseObject({ messageId: z.string() }).safeParse(request.body);
    if (!message.success) return invalid(reply, message.error);
    if (deliver === undefined)
      return reply
        .code(409)
        .send({ error: 'To deliver messages, set EXCHANGE_BASE_URL and MESSAGE_PARTNER_SECRET.' });
    return { status: await deliver(message.data) };
  });

  app.get<{ Params: { id: string } }>(
    '/messages/:id',
    (request, reply) =>
      carried.get(request.params.id) ??
      reply.code(404).send({ error: 'The transport partner has no message with this id.' }),
  );

  app.post('/notifications', async (request, reply) => {
    const asked = notifyRequest.safeParse(request.body);
    if (!asked.success) return invalid(reply, asked.error);
    try {
      return await notifier.notify(asked.data);
    } catch (error) {
      if (!(error instanceof CannotNotifyError)) throw error;
      return reply.code(409).send({ error: error.message });
    }
  });

  app.get('/requests', (request, reply) => {
    const filter = logFilter.safeParse(request.query);
    return filter.success ? log.list(filter.data) : invalid(reply, filter.error);
  });
}

function refusalOf(request: FastifyRequest, token: string | undefined) {
  // The address of the socket itself: forwarding headers must not be trusted here.
  if (!LOOPBACK.has(request.socket.remoteAddress ?? ''))
    return { status: 403, error: 'The admin routes are served to this machine only.' };
  if (token && !sameText(bearerToken(request) ?? '', token))
    return { status: 401, error: 'Send the admin token (SIMULATOR_ADMIN_TOKEN) as a bearer token.' };
  return undefined;
}

const invalid = (reply: FastifyReply, error: z.ZodError) =>
  reply.code(400).send({ error: z.prettifyError(error) });
