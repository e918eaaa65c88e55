import { expect, test } from 'vitest';
import { foundPlainLookups } from '../../../scripts/plain-lookups.ts';

/** Why a literal may be looked up by a text all the same. */
const ALLOWED: Readonly<Record<string, string>> = {
  'packages/person-matching/src/name-words.ts LETTERS[letter]': 'one letter',
  'src/exchange/sources/connectors/ihe/documents/document-reference.ts SYSTEM_SPELLINGS[uri]':
    'a URI, with a colon',
  'src/lib/escape.ts ENTITIES[character]': 'one character',
  'packages/record-summary/src/html-text.ts ENTITIES[character]':
    'one character',
  'packages/record-summary/src/pdf-text.ts WRITTEN_AS[character]':
    'one character',
  'packages/ihe/src/xml/write-xml.ts ESCAPES[character]': 'one character',
  'packages/ihe/src/identifiers.ts HL7_CHARACTERS[letter]': 'one letter',
  'src/exchange/messaging/notifications/hl7v2/acknowledge.ts names[char]':
    'one character',
  'src/exchange/delivery/agents/tools.ts ENTITIES[entity]':
    'an entity, with & and ;',
  'src/exchange/delivery/embed/page-routes.ts TYPES[extname(name)]':
    'of our files',
  'src/exchange/platform/audit/fhir-event.ts METHODS[operation]':
    'our operations',
  'src/exchange/access/authentication/scope-check.ts table[operation]':
    'our operations',
  'src/exchange/platform/http/openapi/examples.ts { ...params, ...query }[parameter.name]':
    'our parameters',
  'src/exchange/platform/http/openapi/reference/page.ts parts[name]':
    'our page',
  'src/exchange/delivery/agents/tools.ts names[key]': 'our arguments',
  'src/worker/exchange-service.ts ({ [secretName]: secret, [`${prefix}_CALLBACK_SECRET`]: callbackSecret, })[path]':
    'our schema',
  'src/exchange/people/cohorts/rules/cohort-settings.ts merged[name]':
    'a strict schema names the settings',
  'src/lib/written-decimals.ts copy[name]': 'a copy, asked for its own names',
  'src/exchange/delivery/bulk-export/views/parse-resource.ts copy[name]':
    'a copy, asked for its own names',
  'src/exchange/delivery/fhir-api/search-record.ts served[key]':
    'a copy, asked for its own names',
  'packages/ihe/src/mime/content-type.ts parameters[name]':
    'only such a name is not kept',
  'packages/ihe/src/mime/part-headers.ts headers[last]':
    'only such a name is not kept',
};

test('a text from outside finds nothing in a table that the table does not hold: each is a lookupTable, or listed here', () => {
  const found = foundPlainLookups().map(
    ({ file, expression }) => `${file} ${expression}`,
  );
  expect([...new Set(found)].sort()).toEqual(Object.keys(ALLOWED).sort());
});
