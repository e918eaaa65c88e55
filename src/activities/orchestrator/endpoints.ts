import { type EndpointName, endpoints } from '../../contract/endpoints.ts';
import type { SentEvent } from '../../contract/sent-events.ts';
import type { ResponseOf } from '../../orchestrator/client/responses.ts';
import {
  callExchange,
  type EndpointActivityDeps,
  type EndpointInput,
} from './call-exchange.ts';

/** At most this many file names are returned; `total` counts all documents. */
const FILE_NAMES_MAX = 100;

/**
 * The activities of all operations that return their response whole. The others
 * say in `PICKS` what they return.
 */
type WholeName =
  | 'startBulkCreate'
  | 'getBulkCreate'
  | 'pauseBulkCreate'
  | 'resumeBulkCreate'
  | 'cancelBulkCreate'
  | 'pauseQuerySweep'
  | 'resumeQuerySweep'
  | 'cancelQuerySweep'
  | 'redriveQueries'
  | 'getQueryRedrive'
  | 'cancelQueryRedrive'
  | 'startConsolidatedQuery'
  | 'getConsolidatedQuery'
  | 'listConsolidatedQueries'
  | 'countConsolidated'
  | 'listPossibleDuplicates'
  | 'acceptPossibleDuplicate'
  | 'refusePossibleDuplicate'
  | 'startBulkDocumentUrls'
  | 'startNetworkQuery'
  | 'getNetworkQuery'
  | 'getNetworkQueryTimeline'
  | 'getSourceScorecard'
  | 'retrySource'
  | 'giveUpSource'
  | 'cancelNetworkQuery'
  | 'createIdentitySession'
  | 'createAal2Challenge'
  | 'getIdentitySession'
  | 'getAal2Challenge'
  | 'getFacility'
  | 'getWebhookStatus';
type ResultOf<N extends EndpointName> = N extends keyof typeof PICKS
  ? ReturnType<(typeof PICKS)[N]>
  : ResponseOf<N>;
export type EndpointActivities = {
  [N in EndpointName]: (input: EndpointInput<N>) => Promise<ResultOf<N>>;
};

/**
 * One activity for each operation of the contract. Results stay in the
 * workflow's history, so each activity returns only what workflows need: lists
 * are reduced to ids and names, and secrets are left out.
 */
export function createEndpointActivities(
  deps: EndpointActivityDeps,
): EndpointActivities {
  const picks: Partial<
    Record<EndpointName, (answer: never, status: number) => unknown>
  > = PICKS;
  const activityOf = <N extends EndpointName>(name: N): unknown => {
    const pick = picks[name] ?? ((answer: never) => answer);
    return (input: EndpointInput<N>) =>
      callExchange(deps, name, input, (answer, status) =>
        pick(answer as never, status),
      );
  };
  const names = Object.keys(endpoints) as EndpointName[];
  return Object.fromEntries(
    names.map((name) => [name, activityOf(name)]),
  ) as EndpointActivities;
}

const idAndName = ({ id, name }: { id: string; name: string }) => ({
  id,
  name,
});
const facilityNames = ({ facilities }: ResponseOf<'listFacilities'>) => ({
  facilities: facilities.map(idAndName),
});
const cohortState = ({ id, name, size, eTag }: ResponseOf<'getCohort'>) => ({
  id,
  name,
  size,
  eTag,
});
/**
 * Reduces a page of patients to ids, opt-outs and the position of the next
 * page.
 */
const pageOf = ({ patients, meta }: ResponseOf<'listCohortPatients'>) => ({
  patients: patients.map(({ id, status }) => ({
    id,
    hieOptOut: status?.hieOptOut ?? false,
  })),
  itemsInTotal: meta.itemsInTotal ?? undefined,
  nextPage: meta.nextPage ?? undefined,
});
/** Demographics must not enter the history. */
const standingOf = ({
  id,
  eTag,
  facilityIds,
  status,
}: ResponseOf<'getPatient'>) => ({
  id,
  eTag,
  facilityIds,
  hieOptOut: status?.hieOptOut ?? false,
});
/** A consent names people, so only its id and status are returned. */
const consentOf = ({ id, status }: ResponseOf<'endConsent'>) => ({
  id,
  status,
});
/** Demographics must not enter the history. */
const withoutPatients = ({
  patients: _,
  ...rest
}: ResponseOf<'getPossibleDuplicate'>) => rest;
/** The content and recipient of a message must not enter the history. */
const withoutContent = ({
  id,
  patientId,
  status,
  reason,
}: ResponseOf<'getMessage'>) => ({
  id,
  patientId,
  status,
  reason,
});
/** The link grants access to the notification, so it is left out. */
const withoutLink = ({ url: _, ...rest }: ResponseOf<'getNotification'>) =>
  rest;
const withoutSecret = ({ webhookKey: _, ...rest }: ResponseOf<'getWebhook'>) =>
  rest;
const eventOf = ({ id, type, status, patientId }: SentEvent) => ({
  id,
  type,
  status,
  patientId,
});
/** The key is a secret and is left out; callers read it from the settings. */
const validUntil = ({ previousKeyUntil }: ResponseOf<'rotateWebhookKey'>) => ({
  previousKeyUntil,
});
const withoutKey = ({ id, webhookUrl }: ResponseOf<'getSettings'>) => ({
  id,
  webhookUrl,
});

/** Links open records, and their openings name people. */
const linkOf = ({ id, status }: ResponseOf<'revokeHealthLink'>) => ({
  id,
  status,
});

const PICKS = {
  createPatient: ({ id }, status) => ({
    patientId: id,
    created: status === 201,
  }),
  getPatient: standingOf,
  updatePatient: ({ id, eTag }) => ({ patientId: id, eTag }),
  deletePatient: () => undefined,
  addPatientToCohorts: ({ cohorts }) => ({
    cohortIds: cohorts.map(({ id }) => id),
  }),
  listPatients: pageOf,
  matchPatient: ({ id, eTag }) => ({ patientId: id, eTag }),
  getPatientByExternalId: ({ id, eTag }) => ({ patientId: id, eTag }),
  setHieOptOut: ({ id }) => ({ patientId: id }),
  setTreatmentRelationship: ({ id }) => ({ patientId: id }),
  getPatientCohorts: ({ cohorts }) => ({ cohorts: cohorts.map(idAndName) }),
  listBulkCreates: ({ bulkCreates, meta }) => ({
    bulkCreates: bulkCreates.map(({ requestId, status }) => ({
      requestId,
      status,
    })),
    meta,
  }),
  getConsolidated: ({ entry }) => ({ entries: entry?.length ?? 0 }),
  contributeDocument: ({ documentReferenceId }) => ({ documentReferenceId }),
  contributeData: ({ id }) => ({ id }),
  listContributions: ({ contributions }) => ({
    contributions: contributions.map(({ id }) => ({ id })),
  }),
  getRecordOrigins: ({ resourceType, origins }) => ({
    resourceType,
    origins: origins.length,
  }),
  getRecordConformance: ({ resources, claiming, summary }) => ({
    resources,
    claiming,
    summary,
  }),
  splitRecordResource: ({ resourceType, id }) => ({ resourceType, id }),
  joinRecordResource: ({ resourceType, id }) => ({ resourceType, id }),
  recordConsent: consentOf,
  listConsents: ({ consents }) => ({ consents: consents.map(consentOf) }),
  endConsent: consentOf,
  getPossibleDuplicate: withoutPatients,
  listDocuments: ({ documents }) => ({
    total: documents.length,
    fileNames: documents
      .slice(0, FILE_NAMES_MAX)
      .map(({ fileName }) => fileName),
  }),
  searchDirectory: ({ entries, hasMore }) => ({
    entries: entries.map(({ id }) => ({ id })),
    hasMore,
  }),
  listNetworkQueryGateways: ({ gateways, meta }) => ({
    gateways: gateways.map(({ id, state }) => ({ id, state })),
    meta,
  }),
  explainGateways: ({ networks }) => ({
    networks: networks.map(({ connection, chosen }) => ({
      connection,
      gateways: chosen.length,
    })),
  }),
  // The link is left out: it grants access to the document, and expires after a
  // minute.
  getDocumentUrl: () => undefined,
  listNetworkQueries: ({ queries, meta }) => ({
    queries: queries.map(({ requestId, patientId, status }) => ({
      requestId,
      patientId,
      status,
    })),
    meta,
  }),
  listMessages: ({ messages, meta }) => ({
    messages: messages.map(withoutContent),
    meta,
  }),
  getMessage: withoutContent,
  sendMessage: withoutContent,
  listNotifications: ({ notifications, meta }) => ({
    notifications: notifications.map(({ id, type, patientId }) => ({
      id,
      type,
      patientId,
    })),
    meta,
  }),
  getNotification: withoutLink,
  cancelFollowUp: withoutLink,
  listCohorts: ({ cohorts }) => ({ cohorts: cohorts.map(idAndName) }),
  createCohort: idAndName,
  getCohort: cohortState,
  updateCohort: cohortState,
  deleteCohort: () => undefined,
  removeContribution: () => undefined,
  listCohortPatients: pageOf,
  addPatientsToCohort: ({ cohort, skipped }) => ({
    size: cohort.size,
    skipped: skipped?.total ?? 0,
  }),
  removePatientsFromCohort: ({ cohort }) => ({ size: cohort.size }),
  listFacilities: facilityNames,
  createFacility: idAndName,
  updateFacility: ({ id, name, eTag }) => ({ id, name, eTag }),
  deleteFacility: () => undefined,
  getPatientFacilities: facilityNames,
  setPatientFacilities: facilityNames,
  createHealthLink: linkOf,
  listHealthLinks: ({ healthLinks }) => ({
    healthLinks: healthLinks.map(linkOf),
  }),
  revokeHealthLink: linkOf,
  // The token is a secret, so it is left out.
  createEmbedToken: () => undefined,
  getSettings: withoutKey,
  updateSettings: withoutKey,
  retryWebhooks: ({ events }) => ({ events }),
  testWebhook: ({ eventId }) => ({ eventId }),
  rotateSettingsKey: validUntil,
  listWebhooks: ({ webhooks }) => ({ webhooks: webhooks.map(withoutSecret) }),
  createWebhook: withoutSecret,
  getWebhook: withoutSecret,
  updateWebhook: withoutSecret,
  deleteWebhook: () => undefined,
  rotateWebhookKey: validUntil,
  listEvents: ({ events, meta }) => ({ events: events.map(eventOf), meta }),
  getEvent: eventOf,
  resendEvent: ({ events }) => ({ events }),
} satisfies {
  [N in Exclude<EndpointName, WholeName>]: (
    answer: ResponseOf<N>,
    status: number,
  ) => unknown;
};
