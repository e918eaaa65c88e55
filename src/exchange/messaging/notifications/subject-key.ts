import { createHmac } from 'node:crypto';

/**
 * The keyed hash that stands for a sender's id in our tables: the id may be a record number.
 *
 * @param kind of the subject, or `message` or `record`
 */
export const senderKey = (idHmacKey: string, sender: string, kind: string, id: string): Buffer =>
  createHmac('sha256', idHmacKey)
    .update(JSON.stringify(['inbound', sender, kind, id]))
    .digest();

/**
 * The key of a subject whose number the sender had used for somebody else's subject, `sourceKey` being that of the number
 * (docs/decisions/0165-identity-of-a-message.md).
 */
export const reusedNumberKey = (
  idHmacKey: string,
  { sender, kind, sourceKey }: { sender: string; kind: string; sourceKey: Buffer },
  recordKey: Buffer,
): Buffer =>
  senderKey(idHmacKey, sender, kind, `${sourceKey.toString('hex')} of ${recordKey.toString('hex')}`);
