import type { Store } from '../../platform/database/database.ts';
import type { RecordKeeper } from '../../records/record-keeper.ts';
import type { PageCursors } from './page-cursor.ts';
import type { FhirReadAudit } from './read-audit.ts';

/** What the routes of the FHIR API use. */
export interface FhirDeps {
  store: Store;
  records: RecordKeeper;
  cursors: PageCursors;
  audit: FhirReadAudit;
  /** Hashes identity keys. */
  idHmacKey: string;
  /** URL of the FHIR API, without a trailing slash. */
  base: string;
}
