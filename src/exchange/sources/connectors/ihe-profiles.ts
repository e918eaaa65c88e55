import { isRecord } from './http/failures.ts';

type Json = Record<string, unknown>;

/** The actors of IHE profiles that a server states to be. */
interface IheProfiles {
  /** PDQm: answers `Patient/$match` (ITI-119). */
  isPatientSupplier: boolean;
  /** MHD: lists a patient's documents (ITI-67) and serves them (ITI-68). */
  isDocumentResponder: boolean;
}

/** National guides derive from the profiles and keep their names: `CH.MHD.DocumentResponder`. */
const PDQM_SUPPLIER = /(^|[^a-z])pdqm([^a-z].*)?supplier/i;
const MHD = /(^|[^a-z])mhd([^a-z]|$)/i;
/** MHD's other actors send, receive or ask for documents. */
const OTHER_ACTOR = /recipient|source|consumer/i;

/**
 * Reads from a CapabilityStatement which IHE actors a server is: what it `instantiates`, the guides it follows, and the
 * profiles of its DocumentReferences.
 *
 * @param resources the resources of its server mode
 */
export function iheProfilesOf(statement: Json, resources: readonly Json[]): IheProfiles {
  const actors = textsOf(statement.instantiates);
  const documents = resources.find(({ type }) => type === 'DocumentReference');
  const stated = [
    ...actors,
    ...textsOf(statement.implementationGuide),
    ...textsOf(documents?.profile),
    ...textsOf(documents?.supportedProfile),
  ];
  const isSearched =
    documents !== undefined &&
    (!Array.isArray(documents.interaction) ||
      documents.interaction.some((each) => isRecord(each) && each.code === 'search-type'));
  return {
    isPatientSupplier: actors.some((actor) => PDQM_SUPPLIER.test(actor)),
    isDocumentResponder: isSearched && stated.some((name) => MHD.test(name) && !OTHER_ACTOR.test(name)),
  };
}

/**
 * What an entry of `operation` may be called: servers write `match`, `$match` or `Patient-match`, and PDQm's own statement
 * names it `PDQm $Match`, defined by `…/OperationDefinition/PDQmMatch`.
 */
export function operationNames({ name, definition }: Json): string[] {
  return [name, definition].filter((text) => typeof text === 'string').map(plainName);
}

const plainName = (text: string): string =>
  (text.split(/[\s/]/).at(-1) ?? '')
    .toLowerCase()
    .replace('$', '')
    .replace(/^(patient-|pdqm)/, '');

const textsOf = (value: unknown): string[] => [value].flat().filter((text) => typeof text === 'string');
