import { z } from 'zod';
import {
  type IheSettings,
  iheSettingsSchema,
  oidSchema,
} from './ihe-settings.ts';

/** Name of a directory: `npm run admin -- directory load <name>`. */
export const directoryNameSchema = z
  .string()
  .regex(/^[a-z0-9][a-z0-9-]{0,39}$/, {
    error: 'must have 1 to 40 small letters, digits and hyphens',
  });

const oids = z.array(oidSchema).max(1_000).default([]);

/** How each gateway is asked. */
const ofEachGatewaySchema = z.object(iheSettingsSchema.shape).omit({
  queryUrl: true,
  retrieveUrl: true,
  homeCommunity: true,
  otherCommunities: true,
});

/**
 * The settings of a connection to a network: which of the gateways in its
 * directory are asked for a patient, and how each is. The addresses come from
 * the directory.
 */
export const networkSettingsSchema = z.strictObject({
  /** The gateways are FHIR servers. Without it they speak IHE. */
  speaks: z.literal('fhir').optional(),
  /**
   * FHIR: addresses in private networks and of this machine are asked, too. The
   * directory is somebody else's.
   */
  privateAddresses: z.boolean().optional(),
  directory: directoryNameSchema,
  /** How many gateways are asked for one patient at most. */
  gatewaysMax: z.int().min(1).max(5_000).default(500),
  /** How far a gateway may be from one of the patient's addresses. */
  withinMiles: z.number().min(1).max(10_000).default(50),
  /**
   * Home communities that locate the records of others: asked first, and none
   * of their members.
   */
  recordLocators: oids,
  /** Set: only these home communities are asked. */
  onlyCommunities: oids,
  neverCommunities: oids,
  /** These answer a patient discovery later (XCPD's deferred response). */
  deferredCommunities: oids,
  /** How long a gateway has to say whether it knows a patient. */
  discoveryTimeoutSeconds: z.int().min(1).max(300).default(60),
  /** A gateway that said "nobody" is asked again after so long. */
  askNobodyAgainAfterDays: z.int().min(0).max(365).default(30),
  ...ofEachGatewaySchema.shape,
});
export type NetworkSettings = z.output<typeof networkSettingsSchema>;

/** The settings of a network of FHIR servers. */
export const fhirNetworkShape = networkSettingsSchema.pick({
  directory: true,
  ownHomeCommunity: true,
  gatewaysMax: true,
  withinMiles: true,
  onlyCommunities: true,
  neverCommunities: true,
  discoveryTimeoutSeconds: true,
  askNobodyAgainAfterDays: true,
  privateAddresses: true,
}).shape;

/** Those of a network of gateways that speak IHE. */
export const iheNetworkShape = networkSettingsSchema.omit({
  speaks: true,
  privateAddresses: true,
}).shape;

/** Where a gateway of a network is reached, by its directory. */
export interface GatewayAddress {
  homeCommunity: string;
  discoveryUrl: string;
  queryUrl: string;
  retrieveUrl: string;
}

/** The settings for one gateway of a network. */
export const gatewaySettingsOf = (
  network: NetworkSettings,
  { homeCommunity, queryUrl, retrieveUrl }: GatewayAddress,
): IheSettings => ({
  ...ofEachGatewaySchema.parse(network),
  homeCommunity,
  queryUrl,
  retrieveUrl,
  otherCommunities: [],
});
