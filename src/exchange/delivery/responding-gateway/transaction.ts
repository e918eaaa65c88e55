import type {
  Envelope,
  OutgoingAttachment,
  PatientDiscoveryRequest,
  RegistryFault,
  XmlElement,
  XmlFragment,
} from '#ihe';
import type { BlobStore } from '../../../shared/blobs/blob-store.ts';
import { insertAuditEntry } from '../../platform/audit/audit-store.ts';
import type { AccountTx, Store } from '../../platform/database/database.ts';
import type { RecordKeeper } from '../../records/record-keeper.ts';
import type { Asker } from './asker.ts';

/** What answers are made with. */
export interface AnswerDeps {
  store: Pick<Store, 'asAccount' | 'asResponder'>;
  blobs: BlobStore;
  records: Pick<RecordKeeper, 'merge'>;
  idHmacKey: string;
  /** Takes a question that is answered later; throws GatewayRefusal. */
  acceptDeferred(
    asker: Asker,
    request: PatientDiscoveryRequest,
    envelope: Envelope,
  ): Promise<void>;
  /** Takes in documents that are sent to the account (ITI-41). */
  takeSubmission(
    asker: Asker,
    envelope: Envelope,
    payload: XmlElement,
  ): Promise<SubmissionTaken>;
}

/** What became of a submission. */
export interface SubmissionTaken {
  /** Errors, for which nothing was taken, or warnings. */
  faults: readonly RegistryFault[];
  /** The message that it became, and its patient where one is known. */
  messageId?: string;
  patientId?: string | undefined;
}

/** What is sent back, and what of patients it gives. */
export interface TransactionAnswer {
  action: string;
  body: XmlFragment;
  /** Sent with MTOM, with or without documents. */
  attachments?: readonly OutgoingAttachment[];
  given: readonly GivenData[];
}

/** What of a patient an answer gives, or a request brought, for the audit. */
export interface GivenData {
  patientId?: string | undefined;
  /** Of the document that was given, or of the message that came. */
  targetId?: string | undefined;
  /** The status of HTTP that says the same. */
  outcome: '200' | '202' | '400' | '404' | '429';
}

/** One entry for each patient or document: who was given it, and why. */
export async function auditGiven(
  tx: AccountTx,
  { membership, community, organization, purpose }: AskerInAudit,
  of: {
    operation: string;
    given: readonly GivenData[];
    remoteAddress?: string | undefined;
  },
): Promise<void> {
  const details = JSON.stringify({
    network: membership.name,
    organization,
    purpose: `${purpose.codeSystem}|${purpose.code}`,
  });
  for (const { patientId, targetId, outcome } of of.given)
    await insertAuditEntry(tx, {
      actor: actorOf(community),
      operation: of.operation,
      patientId,
      targetId,
      outcome,
      remoteAddress: of.remoteAddress,
      details,
    });
}

type AskerInAudit = Pick<Asker, 'community' | 'organization' | 'purpose'> & {
  membership: Pick<Asker['membership'], 'name'>;
};

export const actorOf = (community: string): string => `community:${community}`;
