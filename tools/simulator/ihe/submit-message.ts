import type { z } from 'zod';
import {
  buildSubmission,
  readSubmissionResponse,
  SUBMISSION_ACTIONS,
  XmlFragment,
} from '#ihe';
import type {
  AnsweredSubmission,
  submissionRequest,
} from '../../../src/local-stack/simulator/letters.ts';
import { asMember, payloadOf } from './as-member.ts';
import { submittedDocuments, withTwoSets } from './submitted-documents.ts';

/**
 * Sends a message to a gateway by XDR (ITI-41), as another member of its
 * network. Its text is a document of its own.
 *
 * @throws {IheError} when the gateway answers with a fault
 */
export async function submitMessage(
  message: z.output<typeof submissionRequest>,
): Promise<AnsweredSubmission> {
  const { network, to, body, trouble, attachments } = message;
  const text = {
    fileName: 'message.txt',
    contentType: 'text/plain',
    content: Buffer.from(body).toString('base64'),
  };
  const { set, documents } = submittedDocuments({
    ...message,
    attachments: body.trim() === '' ? attachments : [text, ...attachments],
  });
  const parts = documents.map(({ metadata, content }, at) => ({
    metadata,
    contentId: `document-${at}@simulated.example`,
    content,
  }));
  const written = buildSubmission({
    ...set,
    intendedRecipients: [`Recipient^^^^^^^^^${to}`],
    documents: parts.map(({ metadata, contentId }) => ({
      metadata,
      content: { contentId },
    })),
  });

  return asMember(network, async (send) => {
    const envelope = await send(
      SUBMISSION_ACTIONS.submit,
      trouble === 'two-sets'
        ? new XmlFragment(withTwoSets(written.source, set.entryUuid))
        : written,
      parts.flatMap(({ metadata, contentId, content }) =>
        content === undefined
          ? []
          : [{ contentId, contentType: metadata.mimeType, bytes: content }],
      ),
    );
    const { outcome, problems } = readSubmissionResponse(payloadOf(envelope));
    return {
      outcome,
      problems: problems.map((problem) => ({
        code: problem.code,
        reason: problem.confidentialContext(),
      })),
    };
  });
}
