import {
  type StackSecrets,
  type StackStorage,
  s3Environment,
} from '../../src/local-stack/connection-file.ts';
import { SIMULATED_MAILBOX } from '../../src/local-stack/simulator/letters.ts';
import { SIMULATED_GATEWAY } from '../../src/local-stack/simulator/protocol.ts';
import {
  BACKGROUND_QUEUES,
  INTERACTIVE_QUEUES,
} from '../../src/temporal/task-queues.ts';
import type { StackNetwork } from './network-certificates.ts';
import type { StackPorts } from './stack-ports.ts';

export type Environment = Readonly<Record<string, string>>;
export type SourcePrefix = 'HIE' | 'PHARMACY' | 'LAB';

/** The values from which the environments of all processes are built. */
export interface StackFacts {
  readonly dataDir: string;
  readonly logLevel: string;
  readonly secrets: StackSecrets;
  readonly ports: StackPorts;
  /** The URL with the login of gateway and worker. */
  readonly databaseUrl: string;
  /** TEMPORAL_ADDRESS and the other variables of the connection. */
  readonly temporal: Environment;
  readonly storage: StackStorage;
  readonly accountId: string;
  readonly webhookKey: string;
  /**
   * Variables of external sources. For such a source they replace all variables
   * of the simulator.
   */
  readonly sources: Partial<Record<SourcePrefix, Environment>>;
  /** The network of which the stack is a member; absent in a cluster. */
  readonly network?: StackNetwork | undefined;
}

/**
 * Shorter than in a deployment: unfinished work is found soon after a process
 * of the stack was killed.
 */
const RECONCILE_INTERVAL_SECONDS = '15';

const loopback = (port: number): string => `http://127.0.0.1:${port}`;
export const gatewayUrl = (ports: StackPorts): string =>
  loopback(ports.gateway);
export const receiverUrl = (ports: StackPorts): string =>
  loopback(ports.receiver);
export const simulatorUrl = (ports: StackPorts): string =>
  loopback(ports.simulator);

/** Our home community in the stack's networks. */
const OWN_HOME_COMMUNITY = '2.999.1';

/** The IHE gateway of the simulator, and who we are to it. */
export const simulatedGateway = (simulator: string) => ({
  discoveryUrl: simulator + SIMULATED_GATEWAY.discovery,
  queryUrl: simulator + SIMULATED_GATEWAY.query,
  retrieveUrl: simulator + SIMULATED_GATEWAY.retrieve,
  submissionUrl: simulator + SIMULATED_GATEWAY.submission,
  homeCommunity: SIMULATED_GATEWAY.homeCommunity,
  ownHomeCommunity: OWN_HOME_COMMUNITY,
});

/** The account's mailbox in the simulator's mail system. */
export const simulatedMailbox = (
  ports: StackPorts,
  { simulatedMailPassword: password }: StackSecrets,
) => ({
  settings: {
    address: SIMULATED_MAILBOX.address,
    smtp: `smtp://127.0.0.1:${ports.simulatorSmtp}`,
    imap: `imap://127.0.0.1:${ports.simulatorImap}`,
    readEverySeconds: 15,
  },
  credentials: { user: SIMULATED_MAILBOX.user, password },
});

/** The network in which the simulator's gateway asks and sends. */
export const simulatedNetwork = {
  name: 'Simulated network',
  homeCommunity: OWN_HOME_COMMUNITY,
  organizationName: 'Harborview Family Medicine',
  purposes: ['2.16.840.1.113883.3.18.7.1|TREATMENT'],
  community: {
    homeCommunity: SIMULATED_GATEWAY.homeCommunity,
    host: 'localhost',
  },
};

export const simulatorEnvironment = ({
  dataDir,
  logLevel,
  ports,
  secrets,
}: Pick<
  StackFacts,
  'dataDir' | 'logLevel' | 'ports' | 'secrets'
>): Environment => ({
  LOG_LEVEL: logLevel,
  SIMULATOR_PORT: String(ports.simulator),
  SIMULATOR_ADMIN_TOKEN: secrets.simulatorAdminToken,
  DATA_DIR: dataDir,
  EXCHANGE_BASE_URL: gatewayUrl(ports),
  NOTIFICATION_SENDERS: notificationSenders(secrets),
  IDENTITY_PARTNER_SECRET: secrets.identityPartnerSecret,
  SIMULATOR_MAIL_PORTS: `${ports.simulatorSmtp} ${ports.simulatorImap}`,
  SIMULATOR_MAIL_PASSWORD: secrets.simulatedMailPassword,
  ...simulatedSource('HIE', ports, secrets),
  ...simulatedSource('PHARMACY', ports, secrets),
  ...simulatedSource('LAB', ports, secrets),
});

export const gatewayEnvironment = (facts: StackFacts): Environment => ({
  ...exchangeEnvironment(facts),
  GATEWAY_PORT: String(facts.ports.gateway),
  NOTIFICATION_SENDERS: notificationSenders(facts.secrets),
  IDENTITY_PARTNER_BASE_URL: `${simulatorUrl(facts.ports)}/identity`,
  IDENTITY_PARTNER_SECRET: facts.secrets.identityPartnerSecret,
  ...(facts.network === undefined ? {} : { IHE_PORT: String(facts.ports.ihe) }),
});

export const workerEnvironment = (facts: StackFacts): Environment => ({
  ...commonWorkerEnvironment(facts),
  WORKER_QUEUES: INTERACTIVE_QUEUES.join(' '),
  WORKER_PORT: String(facts.ports.worker),
});

export const backgroundWorkerEnvironment = (
  facts: StackFacts,
): Environment => ({
  ...commonWorkerEnvironment(facts),
  WORKER_QUEUES: BACKGROUND_QUEUES.join(' '),
  WORKER_PORT: String(facts.ports.workerBackground),
});

const commonWorkerEnvironment = (facts: StackFacts): Environment => ({
  ...exchangeEnvironment(facts),
  EXCHANGE_BASE_URL: gatewayUrl(facts.ports),
  EXCHANGE_ACCOUNT_ID: facts.accountId,
  AUDIT_KEY: facts.secrets.auditKey,
  AUDIT_HEADS: facts.storage.auditHeads,
  ORCHESTRATOR_FILES: facts.storage.orchestratorFiles,
  RECONCILE_INTERVAL_SECONDS,
});

export const receiverEnvironment = (facts: StackFacts): Environment => ({
  ...commonEnvironment(facts),
  RECEIVER_PORT: String(facts.ports.receiver),
  DATA_DIR: facts.dataDir,
  WEBHOOK_KEY: facts.webhookKey,
  INTAKE_KEY: facts.secrets.intakeKey,
  EXCHANGE_ACCOUNT_ID: facts.accountId,
});

const commonEnvironment = ({
  logLevel,
  temporal,
  secrets,
}: StackFacts): Environment => ({
  LOG_LEVEL: logLevel,
  DATA_KEYS: secrets.dataKeys,
  ID_HMAC_KEY: secrets.idHmacKey,
  ...temporal,
});

const exchangeEnvironment = (facts: StackFacts): Environment => ({
  ...commonEnvironment(facts),
  DATABASE_URL: facts.databaseUrl,
  BLOB_STORE: facts.storage.blobs,
  ...s3Environment(facts.storage),
  LINK_SIGNING_KEY: facts.secrets.linkSigningKey,
  INTERNAL_TOKEN_KEY: facts.secrets.internalTokenKey,
  PUBLIC_BASE_URL: gatewayUrl(facts.ports),
  LOOPBACK_EXCEPT_PORTS: refusedPorts(facts.ports),
  ...(facts.network === undefined ? {} : { IHE_TLS: facts.network.ours }),
  ...(facts.sources.HIE ?? simulatedSource('HIE', facts.ports, facts.secrets)),
  ...(facts.sources.PHARMACY ??
    simulatedSource('PHARMACY', facts.ports, facts.secrets)),
  ...(facts.sources.LAB ?? simulatedSource('LAB', facts.ports, facts.secrets)),
});

/** Webhooks go to the receiver, and to no other part of the stack. */
const refusedPorts = ({ receiver: _, ...others }: StackPorts): string =>
  Object.values(others).join(' ');

/** The simulator is the only sender. */
const notificationSenders = ({ notificationSecret }: StackSecrets): string =>
  `simulator=${notificationSecret}`;

/** The simulator is on this machine and needs no sparing. */
const SIMULATED_SETTINGS = JSON.stringify({ callsPerSecond: 1_000 });

/**
 * Variables for both the simulator and the connectors. The hie source uses
 * OAuth, the others a bearer token.
 */
function simulatedSource(
  prefix: SourcePrefix,
  ports: StackPorts,
  secrets: StackSecrets,
): Environment {
  const name = prefix.toLowerCase() as Lowercase<SourcePrefix>;
  const base = `${simulatorUrl(ports)}/${name}`;
  return {
    [`${prefix}_BASE_URL`]: `${base}/fhir`,
    [`${prefix}_SETTINGS`]: SIMULATED_SETTINGS,
    [`${prefix}_CALLBACK_SECRET`]: secrets[`${name}CallbackSecret`],
    ...(name === 'hie'
      ? {
          HIE_TOKEN_URL: `${base}/oauth/token`,
          HIE_CLIENT_ID: 'exchange',
          HIE_CLIENT_SECRET: secrets.hieClientSecret,
        }
      : { [`${prefix}_BEARER_TOKEN`]: secrets[`${name}BearerToken`] }),
  };
}
