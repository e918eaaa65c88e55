import { createHash } from 'node:crypto';
import {
  createServer,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { DocumentReference, Patient } from 'fhir/r4.js';
import {
  ADA,
  type GatewayDocument,
} from '../../test/support/responding-gateway.ts';

const FHIR = 'application/fhir+json';

/**
 * A FHIR server that is a Document Responder of IHE MHD, on a port of its own:
 * it knows the gateway's person and the same documents.
 * @returns its base address
 */
export async function startMhdServer(
  documents: readonly GatewayDocument[],
): Promise<string> {
  const byId = new Map(documents.map((each) => [idOf(each), each]));
  const listed = bundleOf(documents.map(referenceOf));
  const answers: Record<string, unknown> = {
    'GET /metadata': CAPABILITIES,
    'POST /Patient/$match': bundleOf([PATIENT]),
    'POST /Patient/_search': bundleOf([PATIENT]),
  };

  async function answer(request: IncomingMessage, response: ServerResponse) {
    const { method, url = '' } = request;
    const asked = await text(request);
    const document = byId.get(url.replace('/Binary/', ''));
    if (document !== undefined) {
      const { bytes, mimeType = '' } = document;
      response.setHeader('content-type', mimeType);
      response.setHeader('content-length', bytes.length);
      response.end(bytes);
      return;
    }
    const found =
      url === '/DocumentReference/_search'
        ? searched(asked, listed)
        : answers[`${method} ${url}`];
    response.writeHead(found === undefined ? 404 : 200, {
      'content-type': FHIR,
    });
    response.end(JSON.stringify(found ?? { resourceType: 'OperationOutcome' }));
  }

  const server = createServer((request, response) => {
    void answer(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const searched = (asked: string, listed: object): object =>
  asked.includes('status=current') ? listed : bundleOf([]);

const bundleOf = (resources: readonly object[]) => ({
  resourceType: 'Bundle',
  type: 'searchset',
  entry: resources.map((resource) => ({ resource })),
});

const idOf = ({ uniqueId }: GatewayDocument): string => `d-${uniqueId}`;

const PATIENT: Patient = {
  resourceType: 'Patient',
  id: 'p1',
  name: [{ family: ADA.lastName, given: [ADA.firstName] }],
  birthDate: ADA.dob,
  gender: 'female',
  address: [
    {
      line: [ADA.line],
      city: ADA.city,
      state: ADA.state,
      postalCode: ADA.zip,
      country: 'USA',
    },
  ],
};

const referenceOf = (document: GatewayDocument): DocumentReference => ({
  resourceType: 'DocumentReference',
  id: idOf(document),
  masterIdentifier: {
    system: 'urn:ietf:rfc:3986',
    value: `urn:oid:${document.uniqueId}`,
  },
  status: 'current',
  subject: { reference: 'Patient/p1' },
  date: '2026-03-01T12:00:00Z',
  content: [
    {
      attachment: {
        contentType: document.mimeType,
        url: `Binary/${idOf(document)}`,
        size: document.bytes.length,
        hash: createHash('sha1').update(document.bytes).digest('base64'),
        creation: '2026-03-01T12:00:00Z',
      },
    },
  ],
});

const CAPABILITIES = {
  resourceType: 'CapabilityStatement',
  instantiates: [
    'https://profiles.ihe.net/ITI/MHD/CapabilityStatement/IHE.MHD.DocumentResponder',
  ],
  rest: [
    {
      mode: 'server',
      resource: [
        {
          type: 'Patient',
          interaction: [{ code: 'search-type' }],
          searchParam: [{ name: 'birthdate' }],
        },
        {
          type: 'DocumentReference',
          interaction: [{ code: 'read' }, { code: 'search-type' }],
          searchParam: [{ name: 'patient' }, { name: 'status' }],
        },
        { type: 'Binary', interaction: [{ code: 'read' }] },
      ],
      operation: [{ name: 'PDQm $Match' }],
    },
  ],
};
