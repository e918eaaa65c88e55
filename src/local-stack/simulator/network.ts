import { z } from 'zod';

/** A gateway of a network, and who the simulator is there. */
export const gatewayNetwork = z.object({
  /** One address for all transactions. */
  address: z.url(),
  /** PEM. */
  certificate: z.string(),
  privateKey: z.string(),
  authority: z.string(),
});
export type GatewayNetwork = z.infer<typeof gatewayNetwork>;

export const askGatewayRequest = z.object({
  network: gatewayNetwork,
  /** Key of a sample patient. */
  sample: z.string(),
});

/** What a gateway answered: ids and facts of documents, no contents. */
export const askedGateway = z.object({
  /** `found`, `nobody`, `more-attributes-wanted` or `failed`. */
  discovery: z.string(),
  /** The gateway's own id of the patient. */
  patientId: z.string().optional(),
  documents: z.array(
    z.object({
      title: z.string().optional(),
      mimeType: z.string().optional(),
      /** Absent for a document that did not come. */
      sizeBytes: z.number().optional(),
      /** Whether its bytes have the hash that was listed. */
      isAsListed: z.boolean(),
    }),
  ),
  /** IHE's codes. */
  problems: z.array(z.string()),
});
export type AskedGateway = z.infer<typeof askedGateway>;
