/*
 * IHE's error codes, and what each means for whoever asked.
 */

/** What an error means, so what to do about it. */
export type IheErrorMeaning =
  /** Busy or away for the moment: the same question, later. */
  | 'again-later'
  /** The answer would be too large: ask with narrower conditions. */
  | 'ask-less'
  /** The patient's id is not, or no longer, known: ask with ITI-55 again. */
  | 'discover-again'
  /** Our message is wrong; the same question will be refused again. */
  | 'our-fault'
  /** One document cannot be had; the others are not concerned. */
  | 'document-missing'
  /** The other side failed, without a word on what would help. */
  | 'failed';

/**
 * What each code of ITI TF-3 table 4.2.4.1-2 means, and of XCPD (ITI TF-2
 * 3.55.4.2.3). A code that is not here means `failed`.
 */
export const IHE_ERROR_MEANINGS = {
  XDSRegistryBusy: 'again-later',
  XDSRepositoryBusy: 'again-later',
  XDSRegistryOutOfResources: 'again-later',
  XDSRepositoryOutOfResources: 'again-later',
  XDSRegistryNotAvailable: 'again-later',
  XDSUnavailableCommunity: 'again-later',
  ResponderBusy: 'again-later',

  XDSTooManyResults: 'ask-less',

  XDSUnknownPatientId: 'discover-again',
  UnknownPatientId: 'discover-again',

  XDSStoredQueryMissingParam: 'our-fault',
  XDSStoredQueryParamNumber: 'our-fault',
  XDSUnknownStoredQuery: 'our-fault',
  XDSResultNotSinglePatient: 'our-fault',
  XDSMissingHomeCommunityId: 'our-fault',
  XDSUnknownCommunity: 'our-fault',
  XDSUnknownRepositoryId: 'our-fault',
  XDSRegistryMetadataError: 'our-fault',
  XDSRepositoryMetadataError: 'our-fault',
  XDSRegistryDuplicateUniqueIdInMessage: 'our-fault',
  XDSRepositoryDuplicateUniqueIdInMessage: 'our-fault',
  XDSDuplicateUniqueIdInRegistry: 'our-fault',
  XDSRegistryDeprecatedDocumentError: 'our-fault',
  XDSMissingDocument: 'our-fault',
  XDSMissingDocumentMetadata: 'our-fault',
  XDSNonIdenticalHash: 'our-fault',
  XDSNonIdenticalSize: 'our-fault',
  XDSPatientIdDoesNotMatch: 'our-fault',
  InvalidDocumentContent: 'our-fault',
  UnresolvedReferenceException: 'our-fault',
  UnsupportedCapabilityException: 'our-fault',

  XDSDocumentUniqueIdError: 'document-missing',

  XDSRegistryError: 'failed',
  XDSRepositoryError: 'failed',
  XDSReplaceFailed: 'failed',
  AnswerNotAvailable: 'failed',
  InternalError: 'failed',
} as const satisfies Record<string, IheErrorMeaning>;

/** A code that IHE defines. Others occur. */
export type KnownIheError = keyof typeof IHE_ERROR_MEANINGS;

/**
 * What a code means. Codes are also found behind a prefix that some stacks put
 * before them (`urn:…:XDSRegistryBusy`).
 */
export function meaningOfIheError(code: string): IheErrorMeaning {
  const bare = lastSegment(code);

  return isKnownIheError(bare) ? IHE_ERROR_MEANINGS[bare] : 'failed';
}

/**
 * The meanings from the one that decides most to the one that decides least:
 * while our message is wrong, waiting does not help.
 */
const MEANINGS_BY_WEIGHT: readonly IheErrorMeaning[] = [
  'our-fault',
  'discover-again',
  'ask-less',
  'again-later',
  'failed',
  'document-missing',
];

/**
 * What several errors of one response mean together: the meaning that must be
 * dealt with first, or undefined if there are none.
 */
export function weightiestMeaning(
  problems: readonly { readonly meaning: IheErrorMeaning }[],
): IheErrorMeaning | undefined {
  return MEANINGS_BY_WEIGHT.find((meaning) =>
    problems.some((problem) => problem.meaning === meaning),
  );
}

/** The last part of a URN: `Failure` of `urn:…:ResponseStatusType:Failure`. */
export function lastSegment(urn: string): string {
  return urn.trim().split(/[:#]/).at(-1) ?? '';
}

function isKnownIheError(code: string): code is KnownIheError {
  return Object.hasOwn(IHE_ERROR_MEANINGS, code);
}
