import { z } from 'zod';
import { MESSAGE_NETWORKS } from '../../../contract/messages.ts';
import { oidSchema } from '../../sources/connectors/ihe/ihe-settings.ts';

/** A concept as `<OID of the code system>|<code>`, with or without words. */
const conceptSchema = z
  .string()
  .max(500)
  .regex(/^[0-2](\.(0|[1-9]\d*))+\|[^|]+(\|[^|]*)?$/, {
    error: 'must have the form <OID of the code system>|<code>',
  });

/** Another member of the network, which may ask. */
const memberSchema = z.strictObject({
  homeCommunity: oidSchema,
  /**
   * A name that its client certificate must be for. Only to this host, deferred
   * answers are sent.
   */
  host: z
    .string()
    .max(253)
    .regex(/^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/i, { error: 'must be a host' })
    .optional(),
});
export type NetworkMember = z.output<typeof memberSchema>;

/** What an account's gateway answers in a network. */
export const membershipSettingsSchema = z.strictObject({
  /** Our own home community: also the authority of our ids of patients. */
  homeCommunity: oidSchema,
  organizationName: z.string().min(1).max(200),
  /** The purposes for which we answer; every other is refused. */
  purposes: z.array(conceptSchema).min(1).max(50),
  /** Who may ask; nobody else is answered. */
  communities: z.array(memberSchema).max(50_000).default([]),
  /** Of which network messages are that come by XDR; default: Carequality. */
  network: z.enum(MESSAGE_NETWORKS).optional(),
  /** For each home community. */
  requestsPerMinute: z.int().min(1).max(100_000).default(300),
  /** Take signatures with SHA-1, from members that have nothing better. */
  sha1: z.boolean().default(false),
  /** Our role, as deferred answers state it. */
  samlRole: conceptSchema.default(
    '2.16.840.1.113883.6.96|106331006|Administrative personnel',
  ),
});
export type MembershipSettings = z.output<typeof membershipSettingsSchema>;

/** A concept, taken apart. */
export function conceptOf(text: string): {
  codeSystem: string;
  code: string;
  displayName?: string;
} {
  const [codeSystem = '', code = '', displayName] = text.split('|');
  return { codeSystem, code, ...(displayName ? { displayName } : {}) };
}
