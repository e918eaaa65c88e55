import { ExchangeError } from '../errors.ts';

/** An error of OAuth 2.0 (RFC 6749); its body has the form that clients of a token endpoint expect. */
export class OAuthRefusal extends ExchangeError {
  override readonly name = 'OAuthRefusal';
  readonly body: { error: string; error_description: string };

  constructor(error: string, description: string, status: 400 | 401 = 400) {
    super(status, description);
    this.body = { error, error_description: description };
  }
}
