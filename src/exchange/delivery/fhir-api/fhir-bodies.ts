import type { FastifyInstance } from 'fastify';
import { ExchangeError } from '../../platform/errors.ts';

/** Accepts forms of a search by POST, and FHIR resources. */
export function acceptFhirBodies(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser<string>(
    'application/x-www-form-urlencoded',
    { parseAs: 'string' },
    (_, body, done) => done(null, new URLSearchParams(body)),
  );
  const parse = app.getDefaultJsonParser('error', 'error');
  app.addContentTypeParser<string>(
    ['application/fhir+json', 'application/json'],
    { parseAs: 'string' },
    (request, body, done) => (body === '' ? done(null, undefined) : void parse(request, body, done)),
  );
  app.addContentTypeParser<Buffer>('*', { parseAs: 'buffer' }, (_, body, done) => {
    if (body.length === 0) done(null, undefined);
    else done(new ExchangeError(415, 'Content-Type must be application/fhir+json, or a form for a search'));
  });
}
