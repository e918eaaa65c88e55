import type { MessageContext } from './read-context.ts';

/** Context to be written; the id is the message's own of it. */
export type ContextToWrite = Partial<MessageContext> & { id: string };

/**
 * Writes the part `metadata.txt`. Characters that divide the guide's fields
 * become spaces, so that a value never states another field.
 */
export function writeContext(context: ContextToWrite): string {
  const { id, patientIds = [], patient = {}, type, purpose } = context;
  const attributes = Object.entries(patient).map(
    ([name, value]) => `${name}=${plain(value)}`,
  );
  const fields = {
    version: '1.1',
    id: `<${plain(id)}>`,
    'patient-id': patientIds.map(plain).join('; '),
    type,
    purpose,
    patient: attributes.join('; '),
  };

  return Object.entries(fields)
    .filter(([, value]) => value)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('');
}

const plain = (value: string): string =>
  value.replaceAll(/[\p{Cc};=]+/gu, ' ').trim();
