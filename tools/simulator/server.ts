import { join } from 'node:path';
import Fastify, { type FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { FaultRuleInput } from '../../src/local-stack/simulator/faults.ts';
import {
  SOURCE_NAMES,
  type SourceName,
} from '../../src/local-stack/simulator/protocol.ts';
import { adminRoutes } from './admin.ts';
import type { SourceAccess } from './auth.ts';
import { createSourceData } from './data/source-data.ts';
import { applicableRule, FaultBook } from './faults/rules.ts';
import { DeferredAnswers } from './ihe/deferred-answers.ts';
import { addSoapParser, gatewayRoutes } from './ihe/gateway-routes.ts';
import { type CallbackSecrets, createCallBack, Jobs } from './jobs/jobs.ts';
import { type MailSystemOptions, startMailSystem } from './mail/mail-system.ts';
import { Notifier, type NotifyTarget } from './notifications/notifier.ts';
import { identityRoutes } from './partners/identity.ts';
import { PartnerSettings } from './partners/settings.ts';
import { serveSource } from './pipeline.ts';
import { RequestLog } from './request-log.ts';
import { operationOutcome } from './response.ts';
import { everythingRoutes } from './routes/everything.ts';
import { jobRoutes } from './routes/jobs.ts';
import { matchRoutes } from './routes/match.ts';
import { metadataRoutes } from './routes/metadata.ts';
import { resourceRoutes } from './routes/resources.ts';
import { tokenRoute } from './routes/token.ts';
import { Settings, type SettingsChange } from './settings.ts';
import type { Source } from './source.ts';

export interface SimulatorOptions {
  /** Default 127.0.0.1. */
  host?: string;
  /** Default 0: any free port. */
  port?: number;
  /** Origin for links to the sources; default: that of each request. */
  publicUrl?: string;
  access: Record<SourceName, SourceAccess>;
  /** Secrets with which the sources sign their callbacks. */
  callbackSecrets: CallbackSecrets;
  /**
   * Bearer token of the admin routes, which are served to this machine only in
   * any case.
   */
  adminToken?: string;
  /**
   * Folder that keeps jobs across restarts; without it, a restart loses them
   * and they return 404.
   */
  dataDir?: string;
  /** File that keeps the request log across restarts. */
  requestLogPath?: string;
  /** Deviations from the default behaviour of the sources. */
  settings?: SettingsChange;
  rules?: readonly FaultRuleInput[];
  /** The exchange that receives notifications (`POST /admin/notifications`). */
  notify?: NotifyTarget;
  /**
   * Key with which the identity partner and the exchange sign; without it, that
   * partner is not served.
   */
  identitySecret?: string;
  /** The mail system for Direct messages; default: none. */
  mail?: MailSystemOptions;
}

const FHIR_ROUTES = [
  ...metadataRoutes,
  ...matchRoutes,
  ...everythingRoutes,
  ...jobRoutes,
  ...resourceRoutes,
];

/**
 * Starts the three stand-in source networks as one HTTP server. Rejects when
 * the port is taken.
 */
export async function createSimulator(options: SimulatorOptions) {
  const log = new RequestLog(options.requestLogPath);
  const settings = new Settings(options.settings);
  const faults = new FaultBook();
  faults.replace(z.array(applicableRule).parse(options.rules ?? []));
  const jobsPath = options.dataDir && join(options.dataDir, 'jobs.jsonl');
  const jobs = new Jobs(createCallBack(options.callbackSecrets, log), jobsPath);
  const data = createSourceData();
  const deferredAnswers = new DeferredAnswers(log);
  const notifier = new Notifier(options.notify);
  const partners = new PartnerSettings();
  const mail = options.mail && (await startMailSystem(options.mail));

  const app = createApp();
  app.get('/health', () => ({ status: 'ok' }));
  await app.register(adminRoutes, {
    prefix: '/admin',
    faults,
    settings,
    data,
    log,
    notifier,
    partners,
    inbox: mail?.inbox,
    token: options.adminToken,
  });
  const { identitySecret, publicUrl } = options;
  if (identitySecret !== undefined)
    await app.register(identityRoutes, {
      prefix: '/identity',
      secret: identitySecret,
      settings: partners,
      publicUrl,
    });
  for (const name of SOURCE_NAMES) {
    const access = options.access[name];
    const tokenPath =
      access.kind === 'client-credentials' ? `/${name}/oauth/token` : undefined;
    const source: Source = {
      name,
      settings: () => settings.of(name),
      data: data[name],
      faults,
      jobs,
      tokenPath,
    };
    const pipeline = { access, log, publicUrl: options.publicUrl };
    await app.register(
      async (scope) => serveSource(scope, source, FHIR_ROUTES, pipeline),
      {
        prefix: `/${name}/fhir`,
      },
    );
    if (name === 'hie') {
      await app.register(
        async (scope) => {
          addSoapParser(scope);
          serveSource(scope, source, gatewayRoutes(deferredAnswers), pipeline);
        },
        { prefix: '/hie/ihe' },
      );
    }
    if (access.kind !== 'client-credentials') continue;
    await app.register(
      async (scope) =>
        serveSource(scope, source, [tokenRoute(access)], pipeline),
      {
        prefix: `/${name}/oauth`,
      },
    );
  }

  const url = await app.listen({
    host: options.host ?? '127.0.0.1',
    port: options.port ?? 0,
  });
  return {
    /**
     * Origin without a trailing slash. The sources are at `{url}/hie/fhir`,
     * `/pharmacy/fhir`, `/lab/fhir`; the IHE gateway is at `/hie/ihe`.
     */
    url,
    close: async () => {
      jobs.close();
      deferredAnswers.close();
      await mail?.close();
      await app.close();
    },
  };
}

function createApp(): FastifyInstance {
  // Requests that a `hang` fault left open must not keep the server from
  // stopping.
  const app = Fastify({
    forceCloseConnections: true,
    exposeHeadRoutes: false,
    routerOptions: { ignoreTrailingSlash: true },
  });
  app.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'string' },
    (_, body, done) => done(null, new URLSearchParams(String(body))),
  );
  const parseJson = app.getDefaultJsonParser('error', 'error');
  app.addContentTypeParser(
    'application/fhir+json',
    { parseAs: 'string' },
    parseJson,
  );
  // Neither response quotes the request, which may name a person.
  app.setNotFoundHandler((_, reply) =>
    reply
      .code(404)
      .send(operationOutcome('not-supported', 'There is no such endpoint.')),
  );
  app.setErrorHandler((error, _, reply) => {
    const status =
      error instanceof Error && 'statusCode' in error
        ? Number(error.statusCode)
        : 500;
    return reply
      .code(status)
      .send(operationOutcome('invalid', 'The request is malformed.'));
  });
  return app;
}
