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
