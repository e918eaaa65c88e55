import {
  codesOfConcepts,
  extensionsNamed,
  isInUseAt,
  type LenientObject,
  lenientText,
} from './lenient-json.ts';
import type { Remarks } from './remarks.ts';

/** What an endpoint is asked for. */
export type Transaction = 'discovery' | 'query' | 'retrieve' | 'fhir';

/** The addresses of one organization; FHIR: base addresses. */
export interface EndpointAddresses {
  discoveryUrl: string | null;
  queryUrl: string | null;
  retrieveUrl: string | null;
  fhirUrl: string | null;
}

const MEMBERS = {
  discovery: 'discoveryUrl',
  query: 'queryUrl',
  retrieve: 'retrieveUrl',
  fhir: 'fhirUrl',
} as const satisfies Record<Transaction, keyof EndpointAddresses>;

const URL_LENGTH_MAX = 2_000;

/** The first usable address for each transaction. */
export function addressesOf(
  endpoints: readonly LenientObject[],
  at: Date,
  remarks: Remarks,
): EndpointAddresses {
  const found: EndpointAddresses = {
    discoveryUrl: null,
    queryUrl: null,
    retrieveUrl: null,
    fhirUrl: null,
  };
  for (const endpoint of endpoints) {
    const { transaction, address } = readEndpoint(endpoint, at, remarks);
    if (transaction === null || address === null) continue;
    const member = MEMBERS[transaction];
    if (found[member] === null) found[member] = address;
    else if (address !== found[member])
      remarks.say(
        'has several endpoints for one transaction: the first is taken',
      );
  }
  return found;
}

/** What an endpoint is asked for, and where; null where it is not asked. */
export function readEndpoint(
  endpoint: LenientObject,
  at: Date,
  remarks: Remarks,
): { transaction: Transaction | null; address: string | null } {
  const transaction = transactionOf(endpoint) ?? null;
  if (transaction === null) return { transaction, address: null };
  if (!isInUseAt(endpoint, at) || isOff(endpoint)) {
    remarks.say('has an endpoint that is not in use: it is left out');
    return { transaction, address: null };
  }
  if (transaction === 'fhir' && !isR4(endpoint)) {
    remarks.say(
      'has a FHIR endpoint of another version than R4: it is left out',
    );
    return { transaction, address: null };
  }
  const address = addressIn(endpoint, remarks);
  return {
    transaction,
    address:
      address !== null && transaction === 'fhir'
        ? baseAddress(address)
        : address,
  };
}

const isOff = ({ status }: LenientObject): boolean =>
  ['off', 'error', 'suspended', 'entered-in-error', 'test'].includes(
    lenientText(status)?.toLowerCase() ?? 'active',
  );

/** What codes and names of endpoints say, in the order in which they are read. */
const TRANSACTIONS: readonly (readonly [RegExp, Transaction])[] = [
  [/ITI-?55|XCPD|patient discovery/i, 'discovery'],
  [/ITI-?39|XCA.?retrieve|retrieve documents/i, 'retrieve'],
  [/ITI-?38|XCA.?query|query for documents|document query/i, 'query'],
  // Not its messages, operations and subscriptions, which are other interfaces.
  [/FHIR(?!.?(msg|messag|opn|operation|subscription))/i, 'fhir'],
];

function transactionOf(endpoint: LenientObject): Transaction | undefined {
  const codes = extensionsNamed(endpoint, 'transaction').flatMap((each) =>
    codesOfConcepts([each.valueCodeableConcept, each.valueCoding]),
  );
  const types = codesOfConcepts(endpoint.connectionType);
  const isOfFhir = types.some((type) => /^hl7-fhir/i.test(type));
  const name = lenientText(endpoint.name) ?? '';
  // Where no code says it, the kind of connection and the name do.
  const kinds = isOfFhir ? types : [...types, name];
  const said = (codes.length > 0 ? codes : kinds).join(' ');
  return TRANSACTIONS.find(([pattern]) => pattern.test(said))?.[1];
}

/** A FHIR endpoint that says no version may be of R4. */
function isR4(endpoint: LenientObject): boolean {
  const said = [
    ...extensionsNamed(endpoint, 'version').flatMap((each) => [
      lenientText(each.valueString) ?? lenientText(each.valueCode) ?? '',
      ...codesOfConcepts([each.valueCodeableConcept, each.valueCoding]),
    ]),
    ...mimeTypesOf(endpoint).flatMap(
      (type) => /fhirVersion=([^;\s]+)/i.exec(type)?.[1] ?? [],
    ),
  ].filter((version) => version !== '');
  return said.length === 0 || said.some((version) => R4.test(version));
}

const R4 = /^\s*(v?4\.0(\.\d+)?|(FHIR\s*)?R4)\s*$/i;

const mimeTypesOf = ({ payloadMimeType }: LenientObject): string[] =>
  (Array.isArray(payloadMimeType)
    ? payloadMimeType
    : [payloadMimeType]
  ).flatMap((type: unknown) => lenientText(type) ?? []);

function addressIn(
  { address }: LenientObject,
  remarks: Remarks,
): string | null {
  const text = lenientText(address);
  const isUrl =
    text !== undefined &&
    text.length <= URL_LENGTH_MAX &&
    /^https?:\/\//i.test(text) &&
    URL.canParse(text) &&
    new URL(text).username === '' &&
    new URL(text).password === '';
  return isUrl ? text : remarks.say('has an endpoint without a usable address');
}

/** In one form, because organizations that share a server write it differently. */
function baseAddress(address: string): string {
  const url = new URL(address);
  url.search = '';
  url.hash = '';
  return url.href.replace(/\/+(metadata\/*)?$/, '');
}
