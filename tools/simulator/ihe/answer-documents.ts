import {
  buildFindDocumentsResponse,
  buildRetrieveResponse,
  CROSS_GATEWAY_ACTIONS,
  isSameId,
  type PatientIdentifier,
  type RegistryFault,
  type RequestedDocument,
  readDocumentQuery,
  readRetrieve,
  withUrnOid,
} from '#ihe';
import type { GatewayTrouble } from '../../../src/local-stack/simulator/faults.ts';
import { SIMULATED_GATEWAY } from '../../../src/local-stack/simulator/protocol.ts';
import type { PatientView } from '../data/patient-view.ts';
import type { SourceCall } from '../source.ts';
import type { GatewayCall, GatewayReply } from './gateway-call.ts';
import {
  documentsOf,
  entryOf,
  GATEWAY_REPOSITORY,
  type GatewayDocument,
} from './gateway-documents.ts';

export const QUERY_TROUBLES = [
  'busy',
  'partial',
  'wrong-home',
] as const satisfies readonly GatewayTrouble[];

export const RETRIEVE_TROUBLES = [
  'busy',
  'partial',
  'one-of-ten',
  'stranger',
] as const satisfies readonly GatewayTrouble[];

/** A community of nobody. */
const OTHER_COMMUNITY = '2.999.99';

/** Answers ITI-38: the documents of a patient. */
export function answerQuery({
  call,
  payload,
  trouble,
}: GatewayCall): GatewayReply {
  const request = readDocumentQuery(payload);
  const home = communityAsked(request.homeCommunity);
  const view = viewOfPatient(call, request.patient);
  if (trouble === 'busy') return refusedQuery('XDSRegistryBusy');
  if (!request.isFindDocuments) return refusedQuery('XDSUnknownStoredQuery');
  if (home === undefined) return refusedQuery('XDSUnknownCommunity');
  if (view === undefined) return refusedQuery('XDSUnknownPatientId');

  const documents = request.wantsStable ? documentsOf(view) : [];
  const listed = trouble === 'partial' ? documents.slice(0, 1) : documents;
  const homeListed = trouble === 'wrong-home' ? OTHER_COMMUNITY : home;
  return {
    action: CROSS_GATEWAY_ACTIONS.queryResponse,
    body: buildFindDocumentsResponse({
      status: trouble === 'partial' ? 'PartialSuccess' : 'Success',
      entries: listed.map((document) => entryOf(document, view, homeListed)),
      faults:
        trouble === 'partial'
          ? [
              {
                code: 'XDSUnavailableCommunity',
                context: 'A community did not respond.',
                location: withUrnOid(SIMULATED_GATEWAY.secondCommunity),
              },
            ]
          : [],
    }),
  };
}

function refusedQuery(code: string): GatewayReply {
  return {
    action: CROSS_GATEWAY_ACTIONS.queryResponse,
    body: buildFindDocumentsResponse({
      status: 'Failure',
      entries: [],
      faults: [faultOf(code)],
    }),
  };
}

const faultOf = (code: string): RegistryFault => ({
  code,
  context: 'The gateway of the simulator says so.',
  location: withUrnOid(SIMULATED_GATEWAY.homeCommunity),
});

/** The community of this gateway that was asked; that of its own by default. */
function communityAsked(asked: string | undefined): string | undefined {
  const { homeCommunity, secondCommunity } = SIMULATED_GATEWAY;
  return [homeCommunity, secondCommunity].find((community) =>
    isSameId(community, asked ?? homeCommunity),
  );
}

function viewOfPatient(
  call: SourceCall,
  patient: PatientIdentifier | undefined,
): PatientView | undefined {
  return call.source.data.view(patient?.id.replace(/-2$/, '') ?? '');
}

/** The sample patient whom a query is about. */
export function sampleOfQuery({ call, payload }: GatewayCall) {
  const { patient } = readDocumentQuery(payload);
  return viewOfPatient(call, patient)?.sample;
}

/** Answers ITI-39: the bytes of documents. */
export function answerRetrieve({
  call,
  payload,
  trouble,
}: GatewayCall): GatewayReply {
  const asked = readRetrieve(payload);
  if (trouble === 'busy') return retrieved([], [faultOf('XDSRepositoryBusy')]);
  const found = asked.map((each) => ({
    asked: each,
    document: findDocument(call, each),
  }));
  const missing = found
    .filter(({ document }) => document === undefined)
    .map(() => faultOf('XDSDocumentUniqueIdError'));
  const documents = found.flatMap(({ asked, document }) =>
    document === undefined ? [] : [{ asked, document }],
  );
  switch (trouble) {
    case 'partial':
      return retrieved(documents.slice(0, -1), [
        ...missing,
        faultOf('XDSRepositoryError'),
      ]);
    case 'one-of-ten':
      return retrieved(documents.slice(0, 1), []);
    case 'stranger':
      return retrieved([...documents, ...strangers(call, asked)], missing);
    default:
      return retrieved(documents, missing);
  }
}

interface Found {
  asked: RequestedDocument;
  document: GatewayDocument;
}

function retrieved(
  documents: readonly Found[],
  faults: readonly RegistryFault[],
): GatewayReply {
  const isAll = faults.length === 0;
  const status = documents.length > 0 ? 'PartialSuccess' : 'Failure';
  return {
    action: CROSS_GATEWAY_ACTIONS.retrieveResponse,
    body: buildRetrieveResponse({
      status: isAll ? 'Success' : status,
      faults,
      documents: documents.map(({ asked, document }, at) => ({
        uniqueId: asked.uniqueId ?? document.uniqueId,
        repository: asked.repository ?? GATEWAY_REPOSITORY,
        homeCommunity: asked.homeCommunity,
        mimeType: document.mimeType,
        content: { contentId: contentId(at) },
      })),
    }),
    attachments: documents.map(({ document }, at) => ({
      contentId: contentId(at),
      contentType: document.mimeType,
      bytes: document.bytes,
    })),
  };
}

const contentId = (at: number): string => `document-${at}@simulator`;

function findDocument(
  call: SourceCall,
  { uniqueId, repository }: RequestedDocument,
): GatewayDocument | undefined {
  if (!isSameId(repository ?? '', GATEWAY_REPOSITORY)) return undefined;
  return allDocuments(call).find(({ document }) =>
    isSameId(document.uniqueId, uniqueId ?? ''),
  )?.document;
}

const allDocuments = (call: SourceCall) =>
  call.source.data
    .views()
    .flatMap((view) =>
      documentsOf(view).map((document) => ({ sample: view.sample, document })),
    );

/** The sample patient whose documents a retrieval asks for. */
export function sampleOfRetrieval({ call, payload }: GatewayCall) {
  const [first] = readRetrieve(payload);
  return allDocuments(call).find(({ document }) =>
    isSameId(document.uniqueId, first?.uniqueId ?? ''),
  )?.sample;
}

/** A document that nobody asked for. */
function strangers(
  call: SourceCall,
  asked: readonly RequestedDocument[],
): Found[] {
  const isAsked = ({ uniqueId }: GatewayDocument) =>
    asked.some((each) => isSameId(each.uniqueId ?? '', uniqueId));
  const stranger = allDocuments(call)
    .map(({ document }) => document)
    .findLast((document) => !isAsked(document));
  return stranger === undefined
    ? []
    : [
        {
          asked: {
            uniqueId: stranger.uniqueId,
            repository: GATEWAY_REPOSITORY,
            homeCommunity: withUrnOid(SIMULATED_GATEWAY.homeCommunity),
          },
          document: stranger,
        },
      ];
}
