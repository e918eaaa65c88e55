import { z } from 'zod';
import {
  type Begin,
  type Poll,
  type SourceConnector,
  SourceFailure,
  type SourceWarning,
  StoredByAnotherBuild,
} from '../connector.ts';
import type { ConnectorDeps } from '../fhir-connector.ts';
import { SourceHttp } from '../http/source-http.ts';
import { resolveSourceConfig, type SourceConfig } from '../source-config.ts';
import { discoverDeferred } from './discovery/discover-deferred.ts';
import { discoverPatient } from './discovery/discover-patient.ts';
import { gatewayPlanOf, newGatewayPlan } from './documents/plan.ts';
import { walkGateway } from './documents/walk-gateway.ts';
import { clockFault, type Gateway } from './gateway.ts';
import type { IheSettings } from './ihe-settings.ts';
import { ownCertificate } from './own-certificate.ts';
import { createMessageSigner } from './sign-message.ts';

/**
 * A connector to a gateway that speaks IHE: it finds the person (XCPD, ITI-55),
 * lists the documents (XCA, ITI-38) and retrieves them (ITI-39). It holds
 * connections, but no state of a query.
 */
export function createIheConnector(
  config: SourceConfig,
  settings: IheSettings,
  deps: ConnectorDeps = {},
): SourceConnector {
  const gateway = openGateway(config, settings, deps);
  const { now } = gateway;
  return {
    keepsDocuments: true,
    waitToBeginMs: () => gateway.http.waitToBeginMs(),
    async begin(patient, options, signal): Promise<Begin> {
      // IAS needs an assertion about a person whose identity was proven.
      if (gateway.config.purposeOfUse !== 'treatment')
        throw new SourceFailure(
          'refused',
          `${config.source} is asked for treatment only: individual access over IHE is not supported`,
        );
      const found = await (settings.answers === 'direct'
        ? discoverPatient(gateway, patient, signal)
        : discoverDeferred(gateway, patient, options.deferred, signal));
      const warnings = warningsOf(gateway);
      if ('questionId' in found) {
        const job: DeferredJob = { protocol: 'ihe', version: 1, ...found };
        return { kind: 'accepted', job, warnings };
      }
      const { patients, notice } = found;
      const told = { notice, warnings };
      if (patients.length === 0) return { kind: 'unknown-patient', ...told };
      const outdatedBefore = new Date(
        now() - gateway.config.fullAfterDays * DAY_MS,
      );
      const plan = newGatewayPlan(
        patients,
        options.storedDocuments ?? new Map(),
        outdatedBefore,
      );
      return {
        kind: 'ready',
        pages: walkGateway(gateway, plan, signal),
        cursor: plan,
        patientIds: patients.map(({ id }) => id),
        ...told,
      };
    },
    async poll(job, _signal, deferred): Promise<Poll> {
      if (!jobSchema.safeParse(job).success)
        throw new StoredByAnotherBuild('job');
      return (await deferred?.isAnswered()) === true
        ? { kind: 'answered' }
        : { kind: 'pending', job };
    },
    resume: (cursor, signal) =>
      walkGateway(gateway, gatewayPlanOf(cursor), signal),
    // That a community no longer lists a document does not say why.
    checkMissing: async ({ missing }) => missing.map(() => 'unknown'),
    cancel: async () => undefined,
  };
}

/** What the timeline, and `admin ops`, say of a gateway that has answered. */
function warningsOf(gateway: Gateway): SourceWarning[] {
  const { config, now } = gateway;
  const clock = clockFault(gateway);
  const certificate = ownCertificate(config.tls, now())?.fault;
  return [
    ...(clock === undefined
      ? []
      : [{ kind: 'clock' as const, message: clock }]),
    ...(certificate === undefined
      ? []
      : [{ kind: 'certificate' as const, message: certificate }]),
  ];
}

/** A question that the gateway answers later. */
const jobSchema = z.object({
  protocol: z.literal('ihe'),
  version: z.literal(1),
  questionId: z.string(),
});
type DeferredJob = z.infer<typeof jobSchema>;

const DAY_MS = 24 * 60 * 60_000;

/** What the calls to the gateway of a connection share. */
export function openGateway(
  config: SourceConfig,
  settings: IheSettings,
  deps: ConnectorDeps = {},
): Gateway {
  const resolved = resolveSourceConfig({
    ...config,
    ihe: settings,
    requestTimeoutSeconds: settings.answerTimeoutSeconds,
    allowedOrigins: [
      ...(config.allowedOrigins ?? []),
      ...addressesOf(settings),
    ],
  });
  const now = () => (deps.clock ?? Date).now();
  return {
    config: resolved,
    settings,
    discoveryUrl: config.baseUrl,
    http: new SourceHttp(resolved, { ...deps, now }),
    signer: deps.messageSigner ?? createMessageSigner(resolved, settings, now),
    now,
    countRequest: deps.countRequest,
    seen: {},
  };
}

const addressesOf = (settings: IheSettings): string[] => [
  ...[settings, ...settings.otherCommunities].flatMap(
    ({ queryUrl, retrieveUrl }) => [queryUrl, retrieveUrl],
  ),
  ...(settings.submissionUrl === undefined ? [] : [settings.submissionUrl]),
];
