import type { EndpointName } from '../../contract/endpoints.ts';
import type { AnswerOf } from '../../orchestrator/client/answers.ts';
import { callExchange, type EndpointActivityDeps, type EndpointInput } from './call-exchange.ts';

/** At most this many file names are returned; `total` counts all documents. */
const FILE_NAMES_MAX = 100;

/**
 * One activity for each operation of the contract. Results stay in the workflow's history, so each activity returns only
 * what workflows need: lists are reduced to ids and names, and secrets are left out.
 */
export function createEndpointActivities(deps: EndpointActivityDeps) {
  /** Creates the activity of an operation; `pick` reduces the answer to the activity's result. */
  const operation =
    <N extends EndpointName, R>(name: N, pick: (answer: AnswerOf<N>, status: number) => R) =>
    (input: EndpointInput<N>): Promise<R> =>
      callExchange(deps, name, input, pick);
  const whole = <A>(answer: A): A => answer;

  return {
    createPatient: operation('createPatient', ({ id }, status) => ({
      patientId: id,
      created: status === 201,
    })),
    getPatient: operation('getPatient', whole),
    updatePatient: operation('updatePatient', ({ id, eTag }) => ({ patientId: id, eTag })),
    deletePatient: operation('deletePatient', () => undefined),
    addPatientToCohorts: operation('addPatientToCohorts', ({ cohorts }) => ({
      cohortIds: cohorts.map(({ id }) => id),
    })),
    listPatients: operation('listPatients', pageOf),
    matchPatient: operation('matchPatient', ({ id, eTag }) => ({ patientId: id, eTag })),
    getPatientByExternalId: operation('getPatientByExternalId', ({ id, eTag }) => ({ patientId: id, eTag })),
    setHieOptOut: operation('setHieOptOut', ({ id }) => ({ patientId: id })),
    setTreatmentRelationship: operation('setTreatmentRelationship', ({ id }) => ({ patientId: id })),
    getPatientCohorts: operation('getPatientCohorts', ({ cohorts }) => ({ cohorts: cohorts.map(nameOf) })),
    startBulkCreate: operation('startBulkCreate', whole),
    getBulkCreate: operation('getBulkCreate', whole),
    listBulkCreates: operation('listBulkCreates', ({ bulkCreates, meta }) => ({
      bulkCreates: bulkCreates.map(({ requestId, status }) => ({ requestId, status })),
      meta,
    })),
    pauseBulkCreate: operation('pauseBulkCreate', whole),
    resumeBulkCreate: operation('resumeBulkCreate', whole),
    cancelBulkCreate: operation('cancelBulkCreate', whole),
    pauseQuerySweep: operation('pauseQuerySweep', whole),
    resumeQuerySweep: operation('resumeQuerySweep', whole),
    cancelQuerySweep: operation('cancelQuerySweep', whole),
    redriveQueries: operation('redriveQueries', whole),
    getQueryRedrive: operation('getQueryRedrive', whole),
    cancelQueryRedrive: operation('cancelQueryRedrive', whole),
    startConsolidatedQuery: operation('startConsolidatedQuery', whole),
    getConsolidatedQuery: operation('getConsolidatedQuery', whole),
    listConsolidatedQueries: operation('listConsolidatedQueries', whole),
    getConsolidated: operation('getConsolidated', ({ entry }) => ({ entries: entry?.length ?? 0 })),
    countConsolidated: operation('countConsolidated', whole),
    getRecordOrigins: operation('getRecordOrigins', ({ resourceType, origins }) => ({
      resourceType,
      origins: origins.length,
    })),
    getRecordConformance: operation('getRecordConformance', ({ resources, claiming, summary }) => ({
      resources,
      claiming,
      summary,
    })),
    splitRecordResource: operation('splitRecordResource', ({ resourceType, id }) => ({ resourceType, id })),
    joinRecordResource: operation('joinRecordResource', ({ resourceType, id }) => ({ resourceType, id })),
    recordConsent: operation('recordConsent', consentOf),
    listConsents: operation('listConsents', ({ consents }) => ({ consents: consents.map(consentOf) })),
    endConsent: operation('endConsent', consentOf),
    listPossibleDuplicates: operation('listPossibleDuplicates', whole),
    getPossibleDuplicate: operation('getPossibleDuplicate', withoutPatients),
    acceptPossibleDuplicate: operation('acceptPossibleDuplicate', whole),
    refusePossibleDuplicate: operation('refusePossibleDuplicate', whole),
    listDocuments: operation('listDocuments', ({ documents }) => ({
      total: documents.length,
      fileNames: documents.slice(0, FILE_NAMES_MAX).map(({ fileName }) => fileName),
    })),
    // The link is left out: it grants access to the document, and expires after a minute.
    getDocumentUrl: operation('getDocumentUrl', () => undefined),
    startBulkDocumentUrls: operation('startBulkDocumentUrls', whole),
    startNetworkQuery: operation('startNetworkQuery', whole),
    getNetworkQuery: operation('getNetworkQuery', whole),
    listNetworkQueries: operation('listNetworkQueries', ({ queries, meta }) => ({
      queries: queries.map(({ requestId, patientId, status }) => ({ requestId, patientId, status })),
      meta,
    })),
    getNetworkQueryTimeline: operation('getNetworkQueryTimeline', whole),
    retrySource: operation('retrySource', whole),
    giveUpSource: operation('giveUpSource', whole),
    cancelNetworkQuery: operation('cancelNetworkQuery', whole),
    createIdentitySession: operation('createIdentitySession', whole),
    createAal2Challenge: operation('createAal2Challenge', whole),
    getIdentitySession: operation('getIdentitySession', whole),
    getAal2Challenge: operation('getAal2Challenge', whole),
    listMessages: operation('listMessages', ({ messages, meta }) => ({
      messages: messages.map(withoutContent),
      meta,
    })),
    getMessage: operation('getMessage', withoutContent),
    sendMessage: operation('sendMessage', withoutContent),
    listNotifications: operation('listNotifications', ({ notifications, meta }) => ({
      notifications: notifications.map(({ id, type, patientId }) => ({ id, type, patientId })),
      meta,
    })),
    getNotification: operation('getNotification', withoutLink),
    cancelFollowUp: operation('cancelFollowUp', withoutLink),
    listCohorts: operation('listCohorts', ({ cohorts }) => ({ cohorts: cohorts.map(nameOf) })),
    createCohort: operation('createCohort', nameOf),
    getCohort: operation('getCohort', stateOf),
    updateCohort: operation('updateCohort', stateOf),
    deleteCohort: operation('deleteCohort', () => undefined),
    listCohortPatients: operation('listCohortPatients', pageOf),
    addPatientsToCohort: operation('addPatientsToCohort', ({ cohort, skipped }) => ({
      size: cohort.size,
      skipped: skipped?.total ?? 0,
    })),
    removePatientsFromCohort: operation('removePatientsFromCohort', ({ cohort }) => ({ size: cohort.size })),
    listFacilities: operation('listFacilities', namesOf),
    createFacility: operation('createFacility', nameOf),
    getFacility: operation('getFacility', whole),
    updateFacility: operation('updateFacility', ({ id, name, eTag }) => ({ id, name, eTag })),
    deleteFacility: operation('deleteFacility', () => undefined),
    getPatientFacilities: operation('getPatientFacilities', namesOf),
    setPatientFacilities: operation('setPatientFacilities', namesOf),
    // The token is a secret, so it is left out.
    createEmbedToken: operation('createEmbedToken', () => undefined),
    getSettings: operation('getSettings', withoutKey),
    updateSettings: operation('updateSettings', withoutKey),
    getWebhookStatus: operation('getWebhookStatus', whole),
    retryWebhooks: operation('retryWebhooks', ({ events }) => ({ events })),
    testWebhook: operation('testWebhook', ({ eventId }) => ({ eventId })),
    rotateSettingsKey: operation('rotateSettingsKey', validUntil),
    listWebhooks: operation('listWebhooks', ({ webhooks }) => ({ webhooks: webhooks.map(withoutSecret) })),
    createWebhook: operation('createWebhook', withoutSecret),
    getWebhook: operation('getWebhook', withoutSecret),
    updateWebhook: operation('updateWebhook', withoutSecret),
    deleteWebhook: operation('deleteWebhook', () => undefined),
    rotateWebhookKey: operation('rotateWebhookKey', validUntil),
  } satisfies Record<EndpointName, unknown>;
}

export type EndpointActivities = ReturnType<typeof createEndpointActivities>;

const nameOf = ({ id, name }: { id: string; name: string }) => ({ id, name });
const namesOf = ({ facilities }: AnswerOf<'listFacilities'>) => ({ facilities: facilities.map(nameOf) });
const stateOf = ({ id, name, size, eTag }: AnswerOf<'getCohort'>) => ({ id, name, size, eTag });
/** Reduces a page of patients to ids, opt-outs and the position of the next page. */
const pageOf = ({ patients, meta }: AnswerOf<'listCohortPatients'>) => ({
  patients: patients.map(({ id, status }) => ({ id, hieOptOut: status?.hieOptOut ?? false })),
  itemsInTotal: meta.itemsInTotal ?? undefined,
  nextPage: meta.nextPage ?? undefined,
});
/** A consent names people, so only its id and status are returned. */
const consentOf = ({ id, status }: AnswerOf<'endConsent'>) => ({ id, status });
/** Demographics must not enter the history. */
const withoutPatients = ({ patients: _, ...rest }: AnswerOf<'getPossibleDuplicate'>) => rest;
/** The content and recipient of a message must not enter the history. */
const withoutContent = ({ id, patientId, status, reason }: AnswerOf<'getMessage'>) => ({
  id,
  patientId,
  status,
  reason,
});
/** The link grants access to the notification, so it is left out. */
const withoutLink = ({ url: _, ...rest }: AnswerOf<'getNotification'>) => rest;
const withoutSecret = ({ webhookKey: _, ...rest }: AnswerOf<'getWebhook'>) => rest;
/** The key is a secret and is left out; callers read it from the settings. */
const validUntil = ({ previousKeyUntil }: AnswerOf<'rotateWebhookKey'>) => ({ previousKeyUntil });
const withoutKey = ({ id, webhookUrl }: AnswerOf<'getSettings'>) => ({ id, webhookUrl });
