import { createHash, timingSafeEqual } from 'node:crypto';

/** A report with an embedded file; all other messages are far smaller. */
export const MESSAGE_BYTES_MAX = 8 * 1024 * 1024;

/** A system that may send notifications. */
export interface NotificationSender {
  /** Part of the address it posts to, and shown to accounts. */
  name: string;
  secret: string;
  /** IANA time zone of its times without an offset. */
  timeZone: string;
}

/**
 * The sender with this name, if the header carries its secret. An unknown name
 * takes as long as a wrong secret.
 */
export function authenticateSender(
  senders: readonly NotificationSender[],
  name: string,
  authorization: string | undefined,
): NotificationSender | undefined {
  const given = /^Bearer (\S+)$/i.exec(authorization ?? '')?.[1] ?? '';
  const sender = senders.find((known) => known.name === name);
  const isRight = timingSafeEqual(
    digest(given),
    digest(sender?.secret ?? 'no sender has this secret'),
  );
  return isRight ? sender : undefined;
}

const digest = (text: string): Buffer =>
  createHash('sha256').update(text).digest();
