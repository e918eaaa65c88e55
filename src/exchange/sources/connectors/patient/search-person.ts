import { nameVariants } from '#person-matching';
import type { Demographics } from '../../../people/patients/rules/demographics.ts';
import type { SourceContext } from '../capabilities.ts';
import { bundleOf, reportedIn, resolveLink } from '../collect/bundle-page.ts';
import { type SoughtPerson, SourceFailure } from '../connector.ts';
import { badResponse } from '../http/failures.ts';
import type { SourceRequest } from '../http/source-http.ts';
import {
  type Chosen,
  chooseCandidates,
  type ReadPatient,
  sharedWith,
  sourcePatients,
} from './choose-candidates.ts';

const SEARCH = 'Patient/_search';
const PAGE_SIZE = 100;
/** Limits what one search may cost. */
const PAGES_MAX = 10;
/** The server has no search by POST. */
const NO_SEARCH = new Set([404, 405, 501]);
/** The server does not take this combination of parameters. */
const NO_COMBINATION = new Set([400, 422]);

/**
 * The Patients that are our person (choose-candidates.ts), from the first
 * search that returns any. Only when every search that the server supports
 * returns none is the person unknown; a search that could not be read to its
 * end is no proof of that. The last search is by name alone, for a birth date
 * that is wrong on one side: it may add a person, and proves nothing if it is
 * cut off.
 *
 * @param isMatched whether `$match` found nobody: the exact search would repeat
 *   it, and the wider ones are sent only if the server lists their parameters
 */
export async function searchForPerson(
  context: SourceContext,
  person: SoughtPerson,
  isMatched: boolean,
  signal: AbortSignal,
): Promise<Chosen> {
  const { source } = context.config;
  const offered = (await context.capabilities.read()).searchParameters?.get(
    'Patient',
  );
  const [exact, ...wide] = personSearches(person, offered);
  const isSearchStated = offered?.has('birthdate') === true;
  const byName = searchByName(person);
  const isNameStated = Object.keys(byName).every(
    (name) => offered?.has(name) === true,
  );
  const stated = [
    ...(isSearchStated ? wide : []),
    ...(isNameStated ? [byName] : []),
  ];
  const searches = isMatched ? stated : [exact, ...wide, byName];
  let isAnswered = isMatched;
  let refusal: SourceFailure | undefined;
  let heldBack: string | undefined;
  for (const search of searches) {
    const isRepeated = search.birthdate === undefined && isAnswered;
    const result = await runSearch(context, search, signal).catch(
      (error: unknown) => {
        // Too wide for the server, or forbidden: what the narrower searches
        // answered stands.
        if (isRepeated && error instanceof SourceFailure && !signal.aborted)
          return undefined;
        throw error;
      },
    );
    if (result === undefined) break;
    if (result.kind === 'unsupported') {
      refusal ??= result.failure;
      // A server that has no searches at all has none with other parameters.
      if (NO_SEARCH.has(result.failure.options.httpStatus ?? 0)) break;
      continue;
    }
    isAnswered = true;
    const chosen = chooseCandidates(
      person,
      result.patients.map((patient) => ({ patient, isClaimed: false })),
      await sharedWith(person, result.patients),
    );
    await person.review?.note(chosen.held);
    if (chosen.accepted.length > 0 || chosen.isAmbiguous) return chosen;
    heldBack ??= chosen.heldBack;
    if (isRepeated) break;
    const [gap] = result.gaps;
    if (gap !== undefined)
      throw badResponse(source, `could not search for the patient: ${gap}`);
    if (result.kind === 'cut-off')
      throw badResponse(
        source,
        `answered ${SEARCH} with more patients than can share one name and birth date`,
      );
    // The server ignores the birth date, by which alone the wider searches are
    // narrow.
    if (
      result.patients.some(
        ({ birthDate }) => birthDate !== undefined && birthDate !== person.dob,
      )
    )
      break;
  }
  if (isAnswered || refusal === undefined)
    return {
      accepted: [],
      held: [],
      ...(heldBack === undefined ? {} : { heldBack }),
    };
  throw refusal;
}

type SearchResult =
  | { kind: 'complete' | 'cut-off'; patients: ReadPatient[]; gaps: string[] }
  | { kind: 'unsupported'; failure: SourceFailure };

async function runSearch(
  { config, http }: SourceContext,
  search: PersonSearch,
  signal: AbortSignal,
): Promise<SearchResult> {
  let isByGet = false;
  const ask = (
    form: URLSearchParams,
  ): Pick<SourceRequest, 'method' | 'url' | 'body'> => {
    if (isByGet)
      return { method: 'GET', url: new URL(`Patient?${form}`, config.baseUrl) };
    const body = {
      text: form.toString(),
      contentType: 'application/x-www-form-urlencoded',
    };
    return { method: 'POST', url: new URL(SEARCH, config.baseUrl), body };
  };
  const patients: ReadPatient[] = [];
  const gaps: string[] = [];
  const form = searchForm(search, PAGE_SIZE);
  let request = ask(form);
  for (let page = 1; page <= PAGES_MAX; page += 1) {
    // Some servers repeat an earlier result for a while; a patient registered
    // since would be missing.
    const headers = { 'cache-control': 'no-cache' };
    let response = await http.send({
      ...request,
      headers,
      label: SEARCH,
      signal,
    });
    if (page === 1 && NO_SEARCH.has(response.status)) {
      // A server that has no search by POST finds nobody otherwise; only its
      // own logs hold the address (decision 175).
      await response.discard();
      isByGet = true;
      response = await http.send({
        ...ask(form),
        headers,
        label: SEARCH,
        signal,
      });
    }
    if (response.status !== 200) {
      const failure = await http.failureOf(response, SEARCH);
      if (page > 1) throw failure;
      if (NO_COMBINATION.has(response.status))
        return { kind: 'unsupported', failure };
      if (!NO_SEARCH.has(response.status)) throw failure;
      const message = `${config.source} supports neither Patient/$match nor a search for Patients`;
      return {
        kind: 'unsupported',
        failure: new SourceFailure('refused', message, failure.options),
      };
    }
    const json = await http.readJson(response, SEARCH);
    const bundle = bundleOf(config.source, SEARCH, json);
    patients.push(...sourcePatients(bundle));
    gaps.push(...reportedIn(bundle.entries).gaps);
    if (bundle.next === undefined) return { kind: 'complete', patients, gaps };
    const url = resolveLink(config, bundle.next, json.url);
    if (url === undefined)
      throw badResponse(
        config.source,
        `answered ${SEARCH} with a next link that is not a valid URL`,
      );
    // A link that repeats our parameters would put the person's name into a
    // URL, so they are sent as a form again.
    const isIdentifying = IDENTIFYING_PARAMETERS.some((name) =>
      url.searchParams.has(name),
    );
    request = isIdentifying ? ask(url.searchParams) : { method: 'GET', url };
  }
  return { kind: 'cut-off', patients, gaps };
}

/**
 * One form of `Patient/_search`; the values of a parameter are alternatives.
 */
export type PersonSearch = Readonly<Record<string, readonly string[]>>;

/**
 * The searches for a person, from the narrowest to the widest. Servers compare
 * names letter by letter, so the first one misses people that our matching rule
 * accepts. The others ask for everybody born on that day with a similar name,
 * or with the zip, phone or identifier that our rule demands in common; our
 * rule then decides.
 *
 * @param offered the parameters that the server lists for Patient; undefined
 *   when it lists none
 */
export function personSearches(
  person: Demographics,
  offered?: ReadonlySet<string>,
): [PersonSearch, ...PersonSearch[]] {
  const birthdate = [person.dob];
  const exact: PersonSearch = {
    family: person.lastNames,
    given: person.firstNames,
    birthdate,
  };
  const wide: PersonSearch[] = [
    { birthdate, ...similarName(person, offered) },
    {
      birthdate,
      'address-postalcode': distinct(
        person.addresses.map(({ zip }) => zip.slice(0, 5)),
      ),
    },
    {
      birthdate,
      phone: distinct(
        person.contacts.flatMap(({ phone }) => phoneFormats(phone)),
      ),
    },
    {
      birthdate,
      identifier: distinct(
        person.personalIdentifiers.flatMap(({ value }) => idFormats(value)),
      ),
    },
  ];
  const isOffered = (search: PersonSearch) =>
    Object.entries(search).every(
      ([name, values]) => values.length > 0 && (offered?.has(name) ?? true),
    );
  return [exact, ...wide.filter(isOffered)];
}

/**
 * For servers that do not take the birth date: our rule compares it in what
 * they return.
 */
const searchByName = ({
  lastNames,
  firstNames,
}: Demographics): PersonSearch => ({
  family: lastNames,
  given: firstNames,
});

/**
 * The form as it is sent. A comma inside a value is escaped; commas between
 * values mean "or".
 */
function searchForm(search: PersonSearch, pageSize: number): URLSearchParams {
  const form = new URLSearchParams();
  for (const [name, values] of Object.entries(search)) {
    form.set(
      name,
      values.map((value) => value.replace(/[\\,$|]/g, '\\$&')).join(','),
    );
  }
  form.set('_count', String(pageSize));
  return form;
}

/**
 * The parameters above that identify a person and therefore must not appear in
 * a URL.
 */
export const IDENTIFYING_PARAMETERS = [
  'family',
  'given',
  'name',
  'birthdate',
  'address-postalcode',
  'phone',
  'identifier',
];

/**
 * `name` searches all parts of a name and its text. Servers without it are
 * asked for the first name alone.
 */
function similarName(
  { firstNames, lastNames }: Demographics,
  offered: ReadonlySet<string> | undefined,
): PersonSearch {
  const first = distinct(firstNames.flatMap(nameVariants));
  if (offered?.has('name') === false) return { given: first };
  return { name: distinct([...first, ...lastNames.flatMap(nameVariants)]) };
}

/**
 * Phone numbers are searched as exact texts, so the usual formats are asked
 * for.
 */
function phoneFormats(phone: string | undefined): string[] {
  const [, area, exchange, line] =
    /^(\d{3})(\d{3})(\d{4})$/.exec(phone ?? '') ?? [];
  if (area === undefined || exchange === undefined || line === undefined)
    return [];
  const dashed = `${area}-${exchange}-${line}`;
  const bracketed = `(${area}) ${exchange}-${line}`;
  return [
    `${area}${exchange}${line}`,
    dashed,
    bracketed,
    `${area}.${exchange}.${line}`,
    `+1${area}${exchange}${line}`,
    `1-${dashed}`,
    `+1-${dashed}`,
    `+1 ${dashed}`,
    `+1 ${bracketed}`,
  ];
}

function idFormats(value: string): string[] {
  const plain = value.replace(/[^A-Za-z0-9]/g, '');
  const asSsn = /^(\d{3})(\d{2})(\d{4})$/.exec(plain);
  return [value, plain, ...(asSsn === null ? [] : [asSsn.slice(1).join('-')])];
}

const distinct = (values: readonly string[]): string[] => [...new Set(values)];
