import { z } from 'zod';
import { MESSAGE_NETWORKS } from '../../../../contract/messages.ts';

/*
 * The settings of a connection to a gateway that speaks IHE: XCPD (ITI-55) at
 * the connection's base address, XCA (ITI-38, ITI-39) at two further ones. What
 * peers do differently is a setting, never a branch by who the peer is.
 */

const address = z.url({ protocol: /^https?$/ }).max(2_000);

/** An OID, with or without `urn:oid:`. */
export const oidSchema = z
  .string()
  .max(200)
  .regex(/^(urn:oid:)?[0-2](\.(0|[1-9]\d*))+$/, { error: 'must be an OID' });

/** Where another community's documents are asked for. */
const communitySchema = z.strictObject({
  homeCommunity: oidSchema,
  queryUrl: address,
  retrieveUrl: address,
});

/** How the gateway answers a patient discovery. */
export const ANSWER_MODES = ['direct', 'deferred', 'asynchronous'] as const;

export const iheSettingsSchema = z.strictObject({
  /** Address of the document query (ITI-38). */
  queryUrl: address,
  /** Address of the document retrieval (ITI-39). */
  retrieveUrl: address,
  /** Address of document submissions (XDR, ITI-41): messages go there. */
  submissionUrl: address.optional(),
  /** The network whose messages go there; without one, those of all. */
  submissionNetwork: z.enum(MESSAGE_NETWORKS).optional(),
  /** Only messages go to the gateway; it is not asked about patients. */
  messagesOnly: z.boolean().default(false),
  /** Home community id of the gateway. */
  homeCommunity: oidSchema,
  /** Our own home community id. */
  ownHomeCommunity: oidSchema,
  /**
   * Where the documents of other communities are asked for, to which the gateway
   * refers. Those of one that is not listed are asked for at the gateway.
   */
  otherCommunities: z.array(communitySchema).max(1_000).default([]),
  /**
   * - `direct`: in the response.
   * - `deferred`: later, to our address (XCPD's deferred response).
   * - `asynchronous`: later, to our address (WS-Addressing's ReplyTo).
   */
  answers: z.enum(ANSWER_MODES).default('direct'),
  /** Documents per retrieval. Some gateways answer few of many, or fail. */
  documentsPerRetrieval: z.int().min(1).max(100).default(5),
  /**
   * Some gateways demand a range of dates in a document query, and others
   * refuse one. The range holds the whole life of the patient.
   */
  queryDates: z.enum(['none', 'creation', 'service']).default('none'),
  /** How the assertion names who asks. */
  nameId: z.enum(['x509', 'email']).default('x509'),
  /** The NameFormat of the assertion's attributes; most ask for none. */
  attributeNames: z.enum(['none', 'uri', 'basic']).default('none'),
  /** Sign with SHA-1, for a gateway that takes nothing better. */
  sha1: z.boolean().default(false),
  /** Allow old renegotiation and weak keys in TLS. */
  legacyTls: z.boolean().default(false),
  /**
   * For one request, instead of the connection's `requestTimeoutSeconds`:
   * answers after more than a minute are normal.
   */
  answerTimeoutSeconds: z.int().min(1).max(600).default(120),
});
export type IheSettings = z.output<typeof iheSettingsSchema>;

/** A concept of the assertion, as `system|code` or `system|code|words`. */
const codedSchema = z
  .string()
  .max(500)
  .regex(/^[0-2](\.(0|[1-9]\d*))+\|[^|]+(\|[^|]*)?$/, {
    error: 'must have the form <OID of the code system>|<code>|<words>',
  });

/**
 * What our SAML assertion says of us. Its key is that of the client
 * certificate.
 */
export const samlAuthSchema = z.object({
  kind: z.literal('saml'),
  organizationName: z.string().min(1).max(200),
  organizationId: oidSchema,
  /** Who asks: a person, or the system that asks by itself. */
  samlSubject: z.string().min(1).max(200),
  /** A mail address, where the assertion names us by one. */
  samlEmail: z.email().max(200).optional(),
  samlRole: codedSchema,
  /** Networks have lists of their own, which change twice a year. */
  samlPurpose: codedSchema,
  npi: z
    .string()
    .regex(/^\d{10}$/, { error: 'must have 10 digits' })
    .optional(),
});
export type SamlAuth = z.output<typeof samlAuthSchema>;
