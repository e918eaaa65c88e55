import type { Connection } from '@temporalio/client';
import type { temporal } from '@temporalio/proto';
import { SEARCH_ATTRIBUTES } from '../contract/temporal.ts';
import { IndexedValueType } from './proto.ts';

const INDEXED_TYPES = {
  Keyword: IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD,
  KeywordList: IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD_LIST,
} as const;

/**
 * Registers the missing search attributes in the namespace. Run it before workers and gateways start, because starting a
 * workflow with an unregistered attribute fails. Throws when an attribute exists with another type, which means that
 * another application uses the namespace.
 */
export async function registerSearchAttributes(connection: Connection, namespace: string): Promise<void> {
  const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace });
  const missing: Record<string, temporal.api.enums.v1.IndexedValueType> = {};
  for (const [name, type] of Object.entries(SEARCH_ATTRIBUTES)) {
    const found = customAttributes[name];
    if (found === undefined) missing[name] = INDEXED_TYPES[type];
    else if (found !== INDEXED_TYPES[type])
      throw new Error(
        `Temporal namespace "${namespace}" has a search attribute ${name} that is not a ${type}; use another namespace`,
      );
  }
  if (Object.keys(missing).length === 0) return;
  await connection.operatorService.addSearchAttributes({ namespace, searchAttributes: missing });
}
