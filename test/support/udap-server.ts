import { createPrivateKey, randomUUID, X509Certificate } from 'node:crypto';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { type JWTPayload, jwtVerify, SignJWT } from 'jose';
import type { Certificate } from './authority.ts';

/**
 * An authorization server written to HL7's SSRAA 2.0, because there is none to
 * install from npm: it checks what the guide says a server SHALL check of
 * software statements and authentication tokens, apart from revocation.
 */
export async function startUdapServer(
  site: Certificate,
  community: { cert: string },
) {
  const clients = new Map<string, string>();
  const tokens = new Map<string, string>();
  const seen = new Set<string>();
  const registrations: JWTPayload[] = [];
  /** Of the last registration. */
  const certifications: JWTPayload[] = [];
  let refusal: string | undefined;
  const server = createServer(site, (request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      const body = Buffer.concat(parts).toString();
      const reply = (status: number, json: object) =>
        response
          .writeHead(status, { 'content-type': 'application/json' })
          .end(JSON.stringify(json));
      const answer = request.url === '/register' ? register(body) : grant(body);
      answer.then(
        ([status, json]) => reply(status, json),
        () =>
          reply(400, {
            error:
              request.url === '/register'
                ? 'invalid_software_statement'
                : 'invalid_client',
          }),
      );
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `https://localhost:${(server.address() as AddressInfo).port}`;

  /** The claims of a JWT whose certificate the community issued. */
  async function verified(
    jwt: string,
    audience: string | undefined,
  ): Promise<{ claims: JWTPayload; names: string }> {
    const header = JSON.parse(
      Buffer.from(jwt.split('.')[0] ?? '', 'base64url').toString(),
    );
    const leaf = new X509Certificate(Buffer.from(header.x5c[0], 'base64'));
    if (!leaf.verify(new X509Certificate(community.cert).publicKey))
      throw new Error('not of the community');
    const { payload } = await jwtVerify(jwt, leaf.publicKey, {
      audience,
      requiredClaims: ['jti', 'iat', 'exp'],
    });
    if ((payload.exp ?? 0) - (payload.iat ?? 0) > 300)
      throw new Error('too long');
    if (payload.iss !== payload.sub || seen.has(String(payload.jti)))
      throw new Error('replayed');
    seen.add(String(payload.jti));
    return { claims: payload, names: leaf.subjectAltName ?? '' };
  }

  async function register(body: string): Promise<[number, object]> {
    const {
      software_statement: statement,
      certifications: given = [],
      udap,
    } = JSON.parse(body);
    const { claims, names } = await verified(statement, `${url}/register`);
    if (udap !== '1' || !names.includes(`URI:${claims.iss}`))
      throw new Error('not the certificate of this client');
    registrations.push(claims);
    certifications.length = 0;
    for (const jwt of given)
      certifications.push((await verified(jwt, undefined)).claims);
    const known = [...clients].find(([, issuer]) => issuer === claims.iss)?.[0];
    const clientId = known ?? randomUUID();
    clients.set(clientId, String(claims.iss));
    return [
      known === undefined ? 201 : 200,
      { ...claims, client_id: clientId },
    ];
  }

  async function grant(body: string): Promise<[number, object]> {
    if (refusal !== undefined) return [400, { error: refusal }];
    const form = new URLSearchParams(body);
    const { claims, names } = await verified(
      form.get('client_assertion') ?? '',
      `${url}/token`,
    );
    const issuer = clients.get(String(claims.iss));
    if (issuer === undefined || !names.includes(`URI:${issuer}`))
      throw new Error('not registered');
    if (form.get('udap') !== '1' || form.get('scope') === null)
      return [400, { error: 'invalid_request' }];
    const { 'hl7-b2b': context } = claims.extensions as {
      'hl7-b2b': Record<string, unknown>;
    };
    const [purpose] = context.purpose_of_use as string[];
    if (
      context.version !== '1' ||
      context.organization_id === undefined ||
      purpose === undefined
    )
      return [400, { error: 'invalid_grant' }];
    const token = randomUUID();
    tokens.set(token, purpose);
    return [
      200,
      { access_token: token, token_type: 'Bearer', expires_in: 3600 },
    ];
  }

  return {
    url,
    registrations,
    certifications,
    isActive: async (token: string) => tokens.has(token),
    /** As if it had lost its registrations and tokens. */
    forgetEverything: () => {
      clients.clear();
      tokens.clear();
    },
    purposeOf: (token: string | undefined) => tokens.get(token ?? ''),
    refuse: (error: string | undefined) => {
      refusal = error;
    },
    /**
     * `.well-known/udap` of a FHIR server, signed with its certificate of the
     * community.
     */
    async metadata(
      baseUrl: string,
      signedBy: Certificate,
      changes: JWTPayload = {},
    ) {
      const now = Math.floor(Date.now() / 1_000);
      const endpoints = {
        token_endpoint: `${url}/token`,
        registration_endpoint: `${url}/register`,
      };
      const claims = {
        iss: baseUrl,
        sub: baseUrl,
        iat: now,
        exp: now + 3_600,
        jti: randomUUID(),
      };
      const x5c = [new X509Certificate(signedBy.cert).raw.toString('base64')];
      return {
        udap_versions_supported: ['1'],
        udap_profiles_supported: ['udap_dcr', 'udap_authn', 'udap_authz'],
        // What is not signed leads elsewhere.
        token_endpoint: 'https://attacker.example.org/token',
        registration_endpoint: 'https://attacker.example.org/register',
        signed_metadata: await new SignJWT({
          ...claims,
          ...endpoints,
          ...changes,
        })
          .setProtectedHeader({ alg: 'ES256', x5c })
          .sign(createPrivateKey(signedBy.key)),
      };
    },
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
