/** OAuth 2 error codes (RFC 6749, 7591, 8707), and what an operator should check. Any other value is not repeated. */
const HINTS: Readonly<Record<string, string>> = {
  invalid_request: '',
  invalid_client: ': check the client id and its secret or key',
  invalid_grant: ': check the client id and its key',
  unauthorized_client: ': the client may not use client credentials',
  unsupported_grant_type: ': the server does not offer client credentials',
  invalid_scope: ': check the scope',
  invalid_target: '',
  access_denied: '',
  server_error: '',
  temporarily_unavailable: '',
  invalid_client_metadata: '',
  invalid_software_statement: ': check the certificate',
  unapproved_software_statement: ': the server does not accept our certificate',
};

/** The error code of a token response. `error_description` is free text and may contain anything, so it is not used. */
export function oauthErrorOf(json: Record<string, unknown>): { code?: string; issueCode?: string } {
  const { error } = json;
  if (typeof error !== 'string' || !Object.hasOwn(HINTS, error)) return {};
  return { code: error, issueCode: `${error}${HINTS[error]}` };
}
