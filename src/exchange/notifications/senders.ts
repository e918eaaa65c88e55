import { createHash, timingSafeEqual } from 'node:crypto';

/** Who may send us notifications. */
export interface NotificationSender {
  /** As in its address and in what accounts see. */
  name: string;
  secret: string;
  /** IANA zone of its times that carry no offset. */
  timeZone: string;
}

/** The sender of this name, when the header carries its secret. Takes as long for an unknown name as for a wrong secret. */
export function authenticateSender(
  senders: readonly NotificationSender[],
  name: string,
  authorization: string | undefined,
): NotificationSender | undefined {
  const shown = /^Bearer (\S+)$/i.exec(authorization ?? '')?.[1] ?? '';
  const sender = senders.find((known) => known.name === name);
  const isRight = timingSafeEqual(digest(shown), digest(sender?.secret ?? 'nobody has this secret'));
  return isRight ? sender : undefined;
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
