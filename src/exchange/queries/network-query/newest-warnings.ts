import type { SourceType } from '../../../contract/primitives.ts';
import type { SystemTx } from '../../platform/database/database.ts';
import { rowsOf, sqlFile } from '../../platform/database/pg-arrays.ts';
import {
  SOURCE_WARNING_KINDS,
  type SourceWarning,
} from '../../sources/connectors/connector.ts';

/** What a query of the last day has shown of a connection. */
export interface ConnectionWarning extends SourceWarning {
  source: SourceType;
  /** Null: the default connection of the source. */
  connectionId: string | null;
  at: Date;
}

const NEWEST_WARNINGS = sqlFile('newest-warnings.sql', import.meta.url);

/**
 * The newest warning of each kind about each connection, over all accounts.
 * Goes through a day of timelines.
 */
export const readNewestWarnings = (
  tx: SystemTx,
): Promise<ConnectionWarning[]> =>
  rowsOf(
    tx,
    NEWEST_WARNINGS<ConnectionWarning>({ kinds: [...SOURCE_WARNING_KINDS] }),
  );
