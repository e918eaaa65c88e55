import {
  defineSearchAttributeKey,
  SearchAttributeType,
} from '@temporalio/common';
import { SEARCH_ATTRIBUTES } from '../contract/temporal.ts';

export const SEARCH_ATTRIBUTE_TYPES = {
  Keyword: SearchAttributeType.KEYWORD,
  KeywordList: SearchAttributeType.KEYWORD_LIST,
} as const;

// A named type, so that the package's declarations do not refer to internal
// paths of the SDK.
type Key<T extends SearchAttributeType> = ReturnType<
  typeof defineSearchAttributeKey<T>
>;

/**
 * Typed keys of the search attributes, for clients and workflows (this file is
 * safe in the workflow bundle). Temporal does not encrypt their values, so they
 * may contain only opaque ids and states.
 */
export const searchAttribute: {
  readonly accountId: Key<'KEYWORD'>;
  readonly requestId: Key<'KEYWORD'>;
  readonly queryStatus: Key<'KEYWORD'>;
  readonly sources: Key<'KEYWORD_LIST'>;
} = {
  accountId: defineSearchAttributeKey(
    'AccountId',
    SEARCH_ATTRIBUTE_TYPES[SEARCH_ATTRIBUTES.AccountId],
  ),
  requestId: defineSearchAttributeKey(
    'RequestId',
    SEARCH_ATTRIBUTE_TYPES[SEARCH_ATTRIBUTES.RequestId],
  ),
  queryStatus: defineSearchAttributeKey(
    'QueryStatus',
    SEARCH_ATTRIBUTE_TYPES[SEARCH_ATTRIBUTES.QueryStatus],
  ),
  sources: defineSearchAttributeKey(
    'Sources',
    SEARCH_ATTRIBUTE_TYPES[SEARCH_ATTRIBUTES.Sources],
  ),
};
