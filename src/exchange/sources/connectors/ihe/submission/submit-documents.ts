import {
  attachmentsInMemory,
  buildSubmission,
  type IheErrorMeaning,
  type OutgoingAttachment,
  readSubmissionResponse,
  SUBMISSION_ACTIONS,
  type SubmissionResponse,
  type SubmissionToBuild,
  withUrnOid,
  xml,
} from '#ihe';
import { callGateway, type Gateway } from '../gateway.ts';
import { failureOfCodes } from '../ihe-failures.ts';

/** Documents to submit, and for which organization. */
export interface DocumentSubmissionCall {
  submission: SubmissionToBuild;
  attachments: readonly OutgoingAttachment[];
  /** The OID of the organization that it is for. */
  recipient: string;
  signal: AbortSignal;
}

/** The recipient's gateway took it, or will never take it as it is. */
export type SubmissionOutcome = 'accepted' | 'refused' | 'unknown-recipient';

/**
 * Submits documents (XDR, ITI-41). A submission that is repeated with the same
 * unique ids, because the answer to the first was lost, counts as accepted when
 * the other side says that it has them. "Accepted" means that the gateway took
 * the documents, not that anybody read them.
 * @param url where the gateway takes submissions
 * @throws SourceFailure when it may help to try again later
 */
export async function submitDocuments(
  gateway: Gateway,
  url: string,
  { submission, attachments, recipient, signal }: DocumentSubmissionCall,
): Promise<SubmissionOutcome> {
  const answer = await callGateway(gateway, {
    transaction: 'ITI-41',
    label: LABEL,
    url,
    action: SUBMISSION_ACTIONS.submit,
    body: buildSubmission(submission),
    isMtom: true,
    attachments,
    headers: recipientHeaders(gateway, recipient),
    resourceId: submission.patientId,
    store: attachmentsInMemory,
    limits: {},
    signal,
  });
  // Without a ReplyTo there is always an answer.
  if (answer === undefined) return 'refused';
  return outcomeOf(gateway, readSubmissionResponse(answer.payload));
}

const LABEL = 'the document submission (ITI-41)';

/**
 * A gateway hands a submission on to an organization behind it by this header
 * (ITI TF-2, 3.41, XDR's homeCommunityBlock).
 */
function recipientHeaders({ settings }: Gateway, recipient: string) {
  const isGatewayItself =
    withUrnOid(settings.homeCommunity) === withUrnOid(recipient);
  if (isGatewayItself) return [];
  return [
    xml`
      <xdr:homeCommunityBlock xmlns:xdr="urn:ihe:iti:xdr:2014">
        <xdr:homeCommunityId>${withUrnOid(recipient)}</xdr:homeCommunityId>
      </xdr:homeCommunityBlock>
    `,
  ];
}

function outcomeOf(
  { config }: Gateway,
  answer: SubmissionResponse,
): SubmissionOutcome {
  if (answer.outcome === 'accepted') return 'accepted';
  const codes = answer.problems.map(({ code }) => code);
  const isOnly = (...known: readonly string[]) =>
    codes.length > 0 &&
    codes.every((code) => known.some((each) => code.endsWith(each)));
  if (isOnly('XDSDuplicateUniqueIdInRegistry')) return 'accepted';
  if (isOnly('XDSUnknownCommunity', 'XDSUnavailableCommunity'))
    return 'unknown-recipient';
  if (FINAL.has(answer.meaning)) return 'refused';
  throw failureOfCodes(config.source, LABEL, answer.meaning, codes);
}

/** What the same message would meet again. */
const FINAL: ReadonlySet<IheErrorMeaning> = new Set([
  'our-fault',
  'discover-again',
  'ask-less',
]);
