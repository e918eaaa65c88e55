import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { adaAtSource } from './ada.ts';
import { createAuthority } from './authority.ts';
import { searchset } from './fhir-server.ts';
import { startUdapServer } from './udap-server.ts';

/** What a member of the network does when it is asked for the patient. */
export type Member =
  | 'knows'
  | 'nobody'
  | 'two candidates'
  | 'refuses tokens'
  | 'refuses our statement'
  | 'is not of the community'
  | 'hangs'
  | 'is away';

export const PURPOSE = 'urn:oid:2.16.840.1.113883.3.7204.1.5.2.1#T-TRTMNT';
const OUR_NODE = 'urn:oid:2.999.5#T-TRTMNT';

/**
 * A network as TEFCA has it for facilitated FHIR: each member is a tenant with a
 * base address and signed metadata of its own; all share one authorization
 * server, except one that refuses us.
 */
export async function startFhirNetwork(members: readonly Member[]) {
  const community = await createAuthority('community');
  const foreign = await createAuthority('foreign');
  const site = await community.issue('DNS:localhost');
  const udap = await startUdapServer(site, community);
  const metadata = new Map<number, unknown>();
  /** Each request for the patient or data, as `<member> <path>`. */
  const requests: string[] = [];

  const server = createServer(site, (request, response) => {
    request.resume();
    request.on('end', () => void answer(request, response));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `https://localhost:${(server.address() as AddressInfo).port}`;
  const baseUrlOf = (index: number) => `${url}/t${index}/fhir`;

  for (const [index, member] of members.entries()) {
    const signer = member === 'is not of the community' ? foreign : community;
    const baseUrl = baseUrlOf(index);
    metadata.set(
      index,
      await udap.metadata(
        baseUrl,
        await signer.issue(`URI:${baseUrl}`),
        member === 'refuses our statement'
          ? { registration_endpoint: `${url}/no-statements` }
          : {},
      ),
    );
  }

  async function answer(
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    const reply = (status: number, json: unknown = {}) => {
      response.writeHead(status, { 'content-type': 'application/fhir+json' });
      response.end(JSON.stringify(json));
    };
    if (request.url === '/no-statements')
      return reply(400, { error: 'invalid_software_statement' });
    const [, number = '', path = ''] =
      /^\/t(\d+)\/fhir\/([^?]*)/.exec(request.url ?? '') ?? [];
    const index = Number(number);
    const member = members[index];
    if (path === '.well-known/udap') return reply(200, metadata.get(index));
    if (path === 'metadata')
      return reply(200, {
        resourceType: 'CapabilityStatement',
        fhirVersion: '4.0.1',
        rest: [{ mode: 'server' }],
      });
    requests.push(`${index} ${path}`);
    if (member === 'is away') return reply(503);
    const token = request.headers.authorization?.replace('Bearer ', '') ?? '';
    if (member === 'refuses tokens' || !(await udap.isActive(token)))
      return reply(401);
    if (member === 'hangs') return;
    if (path === 'Patient/$match')
      return reply(200, searchset(...found(member)));
    if (path === 'Patient/p1/$everything')
      return reply(200, searchset(adaAtSource, condition(index)));
    if (path.startsWith('Patient')) return reply(200, searchset());
    return reply(404);
  }

  return {
    community,
    udap,
    requests,
    /** Our certificate names us once for the purpose. */
    ours: async () => ({
      kind: 'udap' as const,
      ...(await community.issue(`URI:${OUR_NODE}`)),
      anchors: community.cert,
      scope: 'system/*.rs',
      clientName: 'Exchange',
      contact: 'mailto:operations@exchange.example.org',
      organizationId: 'https://directory.example/Organization/2.999.5',
      organizationName: 'Our clinic NPI 1234567893',
      homeCommunityId: '2.999.5',
      purpose: PURPOSE,
    }),
    /** The entry of a member, as TEFCA's directory has it. */
    entry: (index: number, id = `2.999.7.${index}`) => ({
      resourceType: 'Organization',
      id,
      active: true,
      name: `Member ${index}`,
      identifier: [
        {
          type: { coding: [{ code: 'HCID' }] },
          system: 'urn:ietf:rfc:3986',
          value: `urn:oid:${id}`,
        },
      ],
      address: [{ state: 'MA', postalCode: '2115' }],
      contained: [
        {
          resourceType: 'Endpoint',
          id: 'fhir',
          status: 'active',
          connectionType: {
            system:
              'http://terminology.hl7.org/CodeSystem/endpoint-connection-type',
            code: 'hl7-fhir-rest',
          },
          address: `${baseUrlOf(index)}/`,
        },
      ],
      endpoint: [{ reference: '#fhir' }],
    }),
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await udap.stop();
      await Promise.all([community.remove(), foreign.remove()]);
    },
  };
}

function found(member: Member | undefined): unknown[] {
  switch (member) {
    case 'knows':
      return [adaAtSource];
    case 'two candidates':
      // Neither shares a zip, phone or identifier with the patient.
      return ['p1', 'p2'].map((id) => ({ ...adaAtSource, id, address: [] }));
    default:
      return [];
  }
}

const condition = (index: number) => ({
  resourceType: 'Condition',
  id: `c${index}`,
  subject: { reference: 'Patient/p1' },
  code: { text: `Told by member ${index}` },
  clinicalStatus: { coding: [{ code: 'active' }] },
});
