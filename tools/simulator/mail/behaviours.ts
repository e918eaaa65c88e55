/**
 * What a recipient's system does with a message: by the name before the @ of
 * its address. All other names take it, and confirm it at once.
 */
export const RECIPIENT_BEHAVIOURS = {
  unknown: 'The server knows no such recipient (550).',
  greylisted: 'The server takes it at the second try only (451 before).',
  full: 'The server does not take a message of this size (552).',
  silent: 'The message is taken, and nothing is ever said about it.',
  failing: 'It could not be delivered: a notification `failed`.',
  denying: 'The recipient does not want it: a notification `denied`.',
  bouncing: 'A server on the way returns it (a delivery status notification).',
  changing: 'It is confirmed, and then reported as failed after all.',
  repeating: 'It is confirmed twice.',
  forged: 'A stranger says that it failed; then it is confirmed.',
} as const;

export type RecipientBehaviour = keyof typeof RECIPIENT_BEHAVIOURS;

/** Undefined for a recipient that behaves. */
export function behaviourOf(address: string): RecipientBehaviour | undefined {
  const [name = ''] = address.toLowerCase().split('@', 1);

  return Object.hasOwn(RECIPIENT_BEHAVIOURS, name)
    ? (name as RecipientBehaviour)
    : undefined;
}
