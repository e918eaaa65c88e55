import type { z } from 'zod';
import {
  CONTEXT_PATIENT_ATTRIBUTES,
  type ContextPatient,
  writeMail,
} from '#direct';
import type { letterRequest } from '../../../src/local-stack/simulator/letters.ts';

/** A letter as mail, as another provider writes it. */
export const writeLetter = ({
  messageId,
  from,
  to,
  subject,
  body,
  patient,
  attachments,
}: z.output<typeof letterRequest>): Promise<Buffer> =>
  writeMail({
    messageId,
    from,
    to: [to],
    sentAt: new Date(),
    subject,
    text: body,
    attachments: attachments.map(({ content, ...attachment }) => ({
      ...attachment,
      content: Buffer.from(content, 'base64'),
    })),
    ...(patient && {
      context: { id: messageId, patient: contextPatient(patient) },
    }),
  });

const contextPatient = (
  patient: Readonly<Record<string, string>>,
): ContextPatient =>
  Object.fromEntries(
    CONTEXT_PATIENT_ATTRIBUTES.flatMap((name) => {
      const value = patient[name];
      return value === undefined ? [] : [[name, value]];
    }),
  );
