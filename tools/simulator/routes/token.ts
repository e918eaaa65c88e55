import { issueToken, sameText, TOKEN_LIFETIME_SECONDS } from '../auth.ts';
import type { SimulatedResponse } from '../response.ts';
import type { SourceCall } from '../source.ts';
import type { Route } from './route.ts';

interface Client {
  clientId: string;
  clientSecret: string;
}

/**
 * OAuth 2 client credentials (RFC 6749, 4.4); the client authenticates by HTTP
 * Basic or in the form.
 */
export function tokenRoute(client: Client): Route {
  return {
    method: 'POST',
    path: '/token',
    operation: 'token',
    open: () => true,
    answer: (call) => {
      if (call.params.get('grant_type') !== 'client_credentials')
        return oauthError(400, 'unsupported_grant_type');
      if (!isClient(credentialsOf(call), client))
        return oauthError(401, 'invalid_client');
      return {
        status: 200,
        contentType: 'application/json',
        headers: { 'cache-control': 'no-store' },
        body: {
          access_token: issueToken(client.clientSecret),
          token_type: 'bearer',
          expires_in: TOKEN_LIFETIME_SECONDS,
          scope: 'system/*.read',
        },
      };
    },
  };
}

const isClient = (shown: Client, client: Client): boolean =>
  sameText(shown.clientId, client.clientId) &&
  sameText(shown.clientSecret, client.clientSecret);

function credentialsOf(call: SourceCall): Client {
  const basic = /^Basic (\S+)$/i.exec(
    call.request.headers.authorization ?? '',
  )?.[1];
  if (!basic) {
    return {
      clientId: call.params.get('client_id') ?? '',
      clientSecret: call.params.get('client_secret') ?? '',
    };
  }
  const text = Buffer.from(basic, 'base64').toString('utf8');
  const colon = text.indexOf(':');
  // RFC 6749 requires both parts to be form-encoded before they are joined.
  return {
    clientId: formDecode(text.slice(0, colon)),
    clientSecret: formDecode(text.slice(colon + 1)),
  };
}

function formDecode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return text;
  }
}

const oauthError = (status: number, error: string): SimulatedResponse => ({
  status,
  contentType: 'application/json',
  ...(status === 401
    ? { headers: { 'www-authenticate': 'Basic realm="token"' } }
    : {}),
  body: { error },
});
