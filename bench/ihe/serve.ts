import {
  ADA,
  type GatewayDocument,
  holding,
  matchFor,
  startRespondingGateway,
} from '../../test/support/responding-gateway.ts';
import { startMhdServer } from './mhd-server.ts';

/** The documents of one person. */
export interface DocumentsToServe {
  count: number;
  bytes: number;
}

/** Where the same documents are served. */
export interface Served {
  iheUrl: string;
  fhirUrl: string;
}

/**
 * A process of the benchmark: serves documents over IHE and over FHIR, so that
 * their work is not counted as the collector's.
 */
process.on('message', (order: Record<string, DocumentsToServe>) => {
  void serve(order).then((served) => process.send?.(served));
});
process.on('disconnect', () => process.exit(0));

async function serve(
  order: Record<string, DocumentsToServe>,
): Promise<Record<string, Served>> {
  const served: Record<string, Served> = {};
  for (const [name, wanted] of Object.entries(order)) {
    const documents = documentsOf(wanted);
    const gateway = await startRespondingGateway({
      discover: () => ({ patients: [matchFor(ADA)] }),
      ...holding(documents),
    });
    served[name] = {
      iheUrl: gateway.url,
      fhirUrl: await startMhdServer(documents),
    };
  }
  return served;
}

const documentsOf = ({ count, bytes }: DocumentsToServe): GatewayDocument[] =>
  Array.from({ length: count }, (_, index) => ({
    uniqueId: `1.2.3.${index + 1}`,
    // Lines of CRLF are the hardest for a reader of multipart.
    bytes: Buffer.alloc(bytes, `<entry>of document ${index + 1}</entry>\r\n`),
    mimeType: 'text/xml',
  }));
