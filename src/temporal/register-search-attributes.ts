import type { Connection } from '@temporalio/client';
import type { temporal } from '@temporalio/proto';
import { SEARCH_ATTRIBUTES } from '../contract/temporal.ts';
import { IndexedValueType } from './proto.ts';

const INDEXED_TYPES = {
  Keyword: IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD,
  KeywordList: IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD_LIST,
} as const;

/**
 * Registers the missing search attributes in the namespace. Run it before
 * workers and gateways start, because starting a workflow with an unregistered
 * attribute fails. Throws when an attribute exists with another type, which
 * means that another application uses the namespace.
 */
export async function registerSearchAttributes(
  connection: Connection,
  namespace: string,
): Promise<void> {
  const { customAttributes } =
    await connection.operatorService.listSearchAttributes({ namespace });
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
  await connection.operatorService.addSearchAttributes({
    namespace,
    searchAttributes: missing,
  });
}

const GRPC_INVALID_ARGUMENT = 3;
/** Permission denied, unimplemented, unauthenticated. */
const GRPC_NOT_FOR_US = [7, 12, 16];

/**
 * For workers: registers the search attributes if their account may; otherwise,
 * as in Temporal Cloud, checks that they are there. Throws an Error that says
 * what to do when they are not.
 */
export async function ensureSearchAttributes(
  connection: Connection,
  namespace: string,
): Promise<void> {
  try {
    await registerSearchAttributes(connection, namespace);
  } catch (error) {
    if (!GRPC_NOT_FOR_US.includes((error as { code?: number }).code ?? 0))
      throw error;
    if (await knowsSearchAttributes(connection, namespace)) return;
    const wanted = Object.entries(SEARCH_ATTRIBUTES).map(
      ([name, type]) => `${name} (${type})`,
    );
    throw new Error(
      `Temporal namespace "${namespace}" lacks search attributes, and this account may not create them. Run "npm run temporal-setup" once with an account that may, or create them in Temporal Cloud: ${wanted.join(', ')}`,
      { cause: error },
    );
  }
}

async function knowsSearchAttributes(
  connection: Connection,
  namespace: string,
): Promise<boolean> {
  const query = Object.keys(SEARCH_ATTRIBUTES)
    .map((name) => `${name} = 'none'`)
    .join(' AND ');
  try {
    await connection.workflowService.listWorkflowExecutions({
      namespace,
      query,
      pageSize: 1,
    });
    return true;
  } catch (error) {
    if ((error as { code?: number }).code === GRPC_INVALID_ARGUMENT)
      return false;
    throw error;
  }
}
