import { ViewError } from '#sql-on-fhir';
import { argumentsOfTool } from '../../../src/exchange/delivery/agents/feature.ts';
import { parseExport } from '../../../src/exchange/delivery/bulk-export/rules/export-request.ts';
import { planView } from '../../../src/exchange/delivery/bulk-export/views/planned-view.ts';
import { parseSearch } from '../../../src/exchange/delivery/fhir-api/rules/search-request.ts';
import { readFilter } from '../../../src/exchange/delivery/subscriptions/rules/subscription-request.ts';
import { TOPICS } from '../../../src/exchange/delivery/subscriptions/rules/topics.ts';
import { InvalidRequestError } from '../../../src/exchange/platform/errors.ts';
import { headerProblem } from '../../../src/shared/bulk-csv/check-csv.ts';
import {
  BrokenRecordError,
  parseRecords,
} from '../../../src/shared/bulk-csv/records.ts';

/** A language in which callers write to a gateway. */
export interface CallerText {
  /** Pieces of the language, which the search for worst cases puts together. */
  words: readonly string[];
  samples: readonly string[];
  /** Throws one of `refusals`, or nothing. */
  parse(text: string): void;
  refusals: readonly (abstract new (...args: never[]) => Error)[];
}

const SEARCH_WORDS = [
  'code=',
  'date=',
  'category=',
  '_id=',
  'patient=',
  '_include=',
  '&',
  ',',
  '|',
  '\\',
  '\\,',
  '%2C',
  '+',
  ':',
  'a',
  'ge2026',
  'Observation?',
];
const [topic] = TOPICS;
const pathOf = (text: string) => ({
  resource: 'Patient',
  select: [{ column: [{ name: 'a', path: text }] }],
});

export const CALLER_TEXTS = {
  'FHIRPath of a view': {
    words: [
      'a',
      '.',
      '-',
      '+',
      '(',
      ')',
      '[',
      ']',
      '0',
      '1 ',
      "'",
      '\\',
      '|',
      '"',
      '`',
      '@2026',
      ' ',
      ' and ',
      ' in ',
      ' as ',
      '{}',
      '%resource',
      '$this',
      'iif(',
      'where(',
      'first()',
      ',',
      '/*',
      '//',
      '\n',
    ],
    samples: ["name.where(use = 'official').given.first()", '-(1 + 2) | 3'],
    parse: (text) => void planView(pathOf(text)),
    refusals: [ViewError],
  },
  'ViewDefinition as JSON': {
    words: [
      '{"select":[',
      '{"unionAll":[',
      '{"column":[',
      ']}',
      '},',
      '"}',
      '{"name":"a","path":"',
      'a',
      ',',
      '{"repeat":["a"]}',
      '{"forEach":"',
    ],
    samples: [
      JSON.stringify({
        ...pathOf('id'),
        constant: [{ name: 'c', valueString: 'x' }],
        where: [{ path: 'active' }],
      }),
    ],
    parse(text) {
      const definition = jsonIn(text);
      if (definition !== undefined) planView(definition);
    },
    refusals: [ViewError],
  },
  'search of the FHIR API': {
    words: SEARCH_WORDS,
    samples: ['code=http://loinc.org|8480-6,8462-4&date=ge2026&_count=10'],
    parse: (text) =>
      void parseSearch('Observation', [...new URLSearchParams(text)]),
    refusals: [],
  },
  '_typeFilter of an export': {
    words: [...SEARCH_WORDS, 'Condition?'],
    samples: ['Observation?code=8480-6,Condition?clinical-status=active'],
    parse: (text) => void parseExport([['_typeFilter', text]], () => true),
    refusals: [],
  },
  'filter of a Subscription': {
    words: [...SEARCH_WORDS, 'trigger=', 'create'],
    samples: ['Observation?category=laboratory&trigger=create,update'],
    parse: (text) => void (topic && readFilter(text, topic, 'http://x/fhir')),
    refusals: [],
  },
  'arguments of an agent': {
    words: ['{', '}', '"', ':', ',', 'name', 'cursor', 'a', '-', '2026-01-01'],
    samples: ['{"name":"Kiehn","birth_date":"1970-02-03"}'],
    parse(text) {
      const given = jsonIn(text);
      if (given !== undefined) argumentsOfTool('find_patient', given);
    },
    refusals: [InvalidRequestError],
  },
  'header of a CSV file': {
    words: [
      ',',
      '"',
      '""',
      'phone-',
      'zip',
      '1',
      '-',
      ' ',
      '\t',
      '=',
      'a',
      'é',
      '\ufdfa',
      'patientId',
      '\r',
    ],
    samples: ['externalId,firstName,lastName,dob,gender,zip-1,phone-11'],
    parse: (text) =>
      void headerProblem(parseRecords(Buffer.from(text))[0] ?? []),
    refusals: [BrokenRecordError],
  },
} satisfies Readonly<Record<string, CallerText>>;

/** Undefined for what is no JSON object: that is refused before. */
function jsonIn(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return Object.prototype.toString.call(value) === '[object Object]'
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}
