import type { Dispatcher } from 'undici';
import { z } from 'zod';
import { SourceFailure } from '../../../connector.ts';
import type { ResolvedSourceConfig } from '../../../source-config.ts';
import type { UdapAuth } from '../../../source-settings.ts';
import { badResponse, failureOfTokenRequest } from '../../failures.ts';
import { requestJson } from '../json-request.ts';
import { oauthErrorOf } from '../token-request.ts';
import { certificatesOf, readUdapServer, signByCertificate, uriNames } from './server-metadata.ts';

const LABEL = 'the registration';
const registeredSchema = z.object({ client_id: z.string().min(1) });

/**
 * Registers us dynamically at the authorization server of a source (SSRAA 2.0, 3) and returns our client id. Registering
 * again changes the registration; a server may then give another client id and cancel the earlier one.
 */
export async function registerByUdap(
  config: ResolvedSourceConfig,
  auth: UdapAuth,
  deps: { dispatcher: Dispatcher; now: () => number },
): Promise<string> {
  const { source } = config;
  const [issuer] = certificatesOf(auth.cert).slice(0, 1).flatMap(uriNames);
  if (issuer === undefined)
    throw new SourceFailure('denied', `${source}: our certificate names no URI (subject alternative name)`);
  const { registrationUrl } = await readUdapServer(config, auth, deps);
  const statement = {
    ...{ iss: issuer, sub: issuer, aud: registrationUrl },
    client_name: auth.clientName,
    contacts: [auth.contact],
    grant_types: ['client_credentials'],
    token_endpoint_auth_method: 'private_key_jwt',
    scope: auth.scope,
  };
  const { status, json } = await requestJson(config, deps.dispatcher, {
    url: new URL(registrationUrl),
    label: LABEL,
    body: { software_statement: await signByCertificate(auth, statement, deps.now()), udap: '1' },
  });
  if (status !== 200 && status !== 201)
    throw failureOfTokenRequest(source, LABEL, { status, issueCode: oauthErrorOf(json).issueCode });
  const registered = registeredSchema.safeParse(json);
  if (!registered.success) throw badResponse(source, `answered ${LABEL} without a client id`);
  return registered.data.client_id;
}
