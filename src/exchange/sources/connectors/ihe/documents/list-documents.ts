import type { DocumentReference } from 'fhir/r4.js';
import {
  attachmentsInMemory,
  buildFindDocuments,
  CROSS_GATEWAY_ACTIONS,
  comparableHash,
  comparableId,
  type DocumentEntry,
  type FindDocumentsResponse,
  readFindDocumentsResponse,
  registryErrors,
  writeCx,
} from '#ihe';
import { counted } from '../../../../../lib/counted.ts';
import { mediaTypeOf } from '../../../../records/deliveries/inline-files.ts';
import type { Reported } from '../../connector.ts';
import { badResponse } from '../../http/failures.ts';
import type { CommunityPatient } from '../discovery/community-patient.ts';
import { callGateway, type Gateway } from '../gateway.ts';
import { failureOfCodes, shownCodes } from '../ihe-failures.ts';
import { documentIdOf, documentReferenceOf } from './document-reference.ts';
import type { PlannedDocument } from './plan.ts';

export const DOCUMENT_QUERY = 'the document query (ITI-38)';

/** The documents that one community lists of a patient. */
export interface DocumentList {
  references: DocumentReference[];
  /** What can be retrieved of them, in the order of the list. */
  documents: PlannedDocument[];
  /** Ids of those among them that are made when they are retrieved. */
  onDemandIds: ReadonlySet<string>;
  /** The response, without entries about other patients. */
  raw: { bytes: Buffer; contentType: string };
  /** How many entries name another patient. */
  othersCount: number;
  reported: Reported;
}

/**
 * Asks the community of a patient which documents it has: those that it keeps,
 * and those that it makes on demand.
 * @param index the patient's place in the plan
 * @throws SourceFailure
 */
export async function listCommunityDocuments(
  gateway: Gateway,
  patient: CommunityPatient,
  index: number,
  signal: AbortSignal,
): Promise<DocumentList> {
  const { config } = gateway;
  const identifier = { id: patient.localId, authority: patient.authority };
  const answer = await callGateway(gateway, {
    transaction: 'ITI-38',
    label: DOCUMENT_QUERY,
    url: communityAddress(gateway, patient.homeCommunity).queryUrl,
    action: CROSS_GATEWAY_ACTIONS.query,
    body: buildFindDocuments({
      patient: identifier,
      homeCommunity: patient.homeCommunity,
      includeOnDemand: true,
      ...datesOf(gateway),
    }),
    resourceId: writeCx(identifier),
    store: attachmentsInMemory,
    limits: { bytes: config.pageBytesMax },
    signal,
  });
  if (answer === undefined)
    throw badResponse(config.source, `did not answer ${DOCUMENT_QUERY}`);
  const found = readFindDocumentsResponse(answer.payload);
  if (found.outcome === 'failed') {
    const codes = registryErrors(found.problems).map(({ code }) => code);
    throw failureOfCodes(config.source, DOCUMENT_QUERY, found.meaning, codes);
  }
  return documentListOf(found, patient, index, answer.envelope.source);
}

/** Where a community's documents are asked for: at the gateway by default. */
export function communityAddress(
  { settings }: Pick<Gateway, 'settings'>,
  homeCommunity: string,
): { queryUrl: string; retrieveUrl: string } {
  const other = settings.otherCommunities.find(
    (each) => comparableId(each.homeCommunity) === comparableId(homeCommunity),
  );
  return other ?? settings;
}

/** Long before anybody was born. */
const FIRST_DAY = new Date('1900-01-01T00:00:00Z');
const DAY_MS = 24 * 60 * 60_000;

/** For gateways that demand dates: a range that leaves nothing out. */
function datesOf({ settings, now }: Gateway) {
  const period = { from: FIRST_DAY, to: new Date(now() + DAY_MS) };
  return {
    none: {},
    creation: { created: period },
    service: { serviceStarted: period },
  }[settings.queryDates];
}

function documentListOf(
  found: FindDocumentsResponse,
  patient: CommunityPatient,
  index: number,
  source: Buffer,
): DocumentList {
  const ours = found.entries.filter((entry) => !namesAnother(entry, patient));
  const othersCount = found.entries.length - ours.length;
  const references: DocumentReference[] = [];
  const documents: PlannedDocument[] = [];
  const onDemandIds = new Set<string>();
  let withoutIds = 0;
  const seen = new Set<string>();
  for (const listed of ours) {
    const entry = {
      ...listed,
      homeCommunity: listed.homeCommunity ?? patient.homeCommunity,
    };
    const id = documentIdOf(entry);
    const document = id && documentToRetrieve(entry, id, index);
    if (document === undefined || document === '') withoutIds += 1;
    if (id === undefined || seen.has(id)) continue;
    seen.add(id);
    references.push(documentReferenceOf(entry, id, patient.id));
    if (document !== undefined && document !== '') documents.push(document);
    if (entry.isOnDemand) onDemandIds.add(id);
  }
  return {
    references,
    documents,
    onDemandIds,
    raw:
      othersCount === 0
        ? { bytes: source, contentType: 'application/soap+xml' }
        : {
            bytes: Buffer.from(JSON.stringify(ours)),
            contentType: 'application/json',
          },
    othersCount,
    reported: reportedOf(found, withoutIds),
  };
}

/**
 * Whether an entry is about another patient: one of the same authority with
 * another id. Ids of other authorities say nothing.
 */
const namesAnother = (
  { patient: named }: DocumentEntry,
  { localId, authority }: CommunityPatient,
): boolean =>
  named !== undefined &&
  comparableId(named.authority) === comparableId(authority) &&
  named.id !== localId;

function documentToRetrieve(
  entry: DocumentEntry & { homeCommunity: string },
  id: string,
  patient: number,
): PlannedDocument | undefined {
  const { uniqueId, repository, homeCommunity, size, hash } = entry;
  if (uniqueId === undefined || repository === undefined) return undefined;
  return {
    id,
    patient,
    homeCommunity,
    repository,
    uniqueId,
    contentType: mediaTypeOf(entry.mimeType),
    ...(size === undefined || size === 0 ? {} : { sizeBytes: size }),
    ...(SHA1.test(hash ?? '') ? { sha1: comparableHash(hash ?? '') } : {}),
  };
}

const SHA1 = /^\s*[0-9a-f]{40}\s*$/i;

function reportedOf(
  found: FindDocumentsResponse,
  withoutIds: number,
): Reported {
  const codes = shownCodes(registryErrors(found.problems).map((p) => p.code));
  const said = codes === '' ? '' : ` (${codes})`;
  return {
    gaps: [
      ...(found.outcome === 'incomplete'
        ? [`a community says that its list of documents is incomplete${said}`]
        : []),
      ...(withoutIds === 0
        ? []
        : [
            `${counted(withoutIds, 'document')} listed without the ids that are needed to retrieve ${withoutIds === 1 ? 'it' : 'them'}`,
          ]),
    ],
    warnings: [],
  };
}
